"""Bedside chart items that copy a laboratory result.

The ICU chart takes results over from the laboratory under its own itemids, at the charttime of the
specimen. Such a copy must not be readable before the laboratory row is. An item is listed when its
label in `icu.d_items` names an analyte of `hosp.d_labitems` and, in the open demo, its numbers equal
those of that laboratory item at the same charttime; items of the same panels and of older names
(`Z…`) that the demo does not hold are listed by label. Bedside measurements (finger stick, 225664)
have no laboratory row and stand on their own. A copy with several laboratory items waits for every
one of them that was drawn at its charttime.
"""

CHART_COPIES: dict[int, tuple[int, ...]] = {
    # chemistry
    220587: (50878,),  # AST
    220644: (50861,),  # ALT
    225612: (50863,),  # alkaline phosphatase
    225690: (50885,),  # bilirubin, total
    225651: (50883,),  # bilirubin, direct
    227456: (50862,),  # albumin
    220574: (50862,),  # albumin, older name
    220650: (50976,),  # protein, total
    220580: (50866,),  # ammonia
    228391: (50866,),  # ammonia, older name
    228241: (50866,),  # ammonia, older name
    220581: (50867,),  # amylase
    225672: (50956,),  # lipase
    227073: (50868,),  # anion gap
    225624: (51006,),  # urea nitrogen
    220615: (50912,),  # creatinine
    229761: (52024,),  # creatinine, whole blood
    225625: (50893,),  # calcium, total
    220635: (50960,),  # magnesium
    225677: (50970,),  # phosphate
    220602: (50902,),  # chloride
    228385: (50902,),  # chloride, older name
    227443: (50882,),  # bicarbonate
    224826: (50882,),  # bicarbonate, older name
    220621: (50931,),  # glucose
    227442: (50971,),  # potassium
    220640: (50971,),  # potassium, older name
    220645: (50983,),  # sodium
    228389: (50983,),  # sodium, older name
    225684: (50964,),  # osmolality
    225695: (51007,),  # uric acid
    220632: (50954,),  # lactate dehydrogenase
    225634: (50910,),  # creatine kinase
    227445: (50911,),  # creatine kinase MB
    225632: (50911,),  # creatine kinase MB, older name
    225628: (50908,),  # creatine kinase MB index
    227429: (51003,),  # troponin T
    225694: (51003,),  # troponin T, older name
    227446: (50963,),  # NT-proBNP
    225622: (50963,),  # NT-proBNP, older name
    227444: (50889,),  # C-reactive protein
    220612: (50889,),  # C-reactive protein, older name
    227463: (50909,),  # cortisol
    220611: (50909,),  # cortisol, older name
    220603: (50907,),  # cholesterol, total
    220624: (50904,),  # cholesterol, HDL
    225671: (50905,),  # cholesterol, LDL, calculated
    227441: (50906,),  # cholesterol, LDL, measured
    225670: (50906,),  # cholesterol, LDL, measured, older name
    225693: (51000,),  # triglycerides
    # drug levels
    227440: (50917,),  # digoxin
    225644: (50917,),  # digoxin, older name
    227461: (50967,),  # phenytoin
    225645: (50967,),  # phenytoin, older name
    226504: (50968,),  # phenytoin, free
    228239: (50968,),  # phenytoin, free, older name
    227460: (50966,),  # phenobarbital
    225676: (50966,),  # phenobarbital, older name
    227462: (50986,),  # tacrolimus
    225655: (50986,),  # tacrolimus, older name
    227447: (50929,),  # gentamicin
    227448: (50929,),  # gentamicin, peak
    227449: (50929,),  # gentamicin, trough
    225662: (50929,),  # gentamicin, peak, older name
    226069: (50929,),  # gentamicin, older name
    226068: (50929,),  # gentamicin, trough, older name
    227450: (50997,),  # tobramycin, peak
    227451: (50997,),  # tobramycin
    227452: (50997,),  # tobramycin, trough
    225688: (50997,),  # tobramycin, peak, older name
    226067: (50997,),  # tobramycin, older name
    226066: (50997,),  # tobramycin, trough, older name
    227453: (51009,),  # vancomycin, peak
    227454: (51009,),  # vancomycin
    227455: (51009,),  # vancomycin, trough
    225697: (51009,),  # vancomycin, peak, older name
    226065: (51009,),  # vancomycin, older name
    226064: (51009,),  # vancomycin, trough, older name
    227458: (50972,),  # procainamide
    225679: (50972,),  # procainamide, older name
    227459: (50962,),  # N-acetylprocainamide
    225680: (50962,),  # N-acetylprocainamide, older name
    # blood gas
    224828: (50802,),  # base excess
    220235: (50818,),  # pCO2, arterial
    226062: (50818,),  # pCO2, venous
    220224: (50821,),  # pO2, arterial
    226063: (50821,),  # pO2, venous
    227516: (50821,),  # pO2, mixed venous
    220227: (50817,),  # oxygen saturation, arterial
    227686: (50817,),  # oxygen saturation, central venous
    227685: (50817,),  # oxygen saturation, central venous, older name
    225674: (50817,),  # oxygen saturation, mixed venous
    223830: (50820,),  # pH, arterial
    220274: (50820,),  # pH, venous
    228243: (50820,),  # pH, older name
    225698: (50804,),  # total CO2, arterial
    223679: (50804,),  # total CO2, venous
    226536: (50806,),  # chloride, whole blood
    228386: (50806,),  # chloride, whole blood, older name
    226537: (50809,),  # glucose, whole blood
    228388: (50809,),  # glucose, whole blood, older name
    226540: (50810,),  # haematocrit, calculated
    225667: (50808,),  # calcium, ionised
    225668: (50813,),  # lactate
    227464: (50822,),  # potassium, whole blood
    226535: (50822,),  # potassium, whole blood, older name
    226534: (50824,),  # sodium, whole blood
    228390: (50824,),  # sodium, whole blood, older name
    # haematology
    220545: (51221,),  # haematocrit
    220228: (51222, 50811),  # haemoglobin, of the blood count or of the gas
    227457: (51265,),  # platelets
    225678: (51265,),  # platelets, older name
    220546: (51301,),  # white cells
    227467: (51237,),  # INR
    220561: (51237,),  # INR, older name
    227465: (51274,),  # prothrombin time
    220560: (51274,),  # prothrombin time, older name
    227466: (51275,),  # PTT
    220562: (51275,),  # PTT, older name
    227468: (51214,),  # fibrinogen
    220541: (51214,),  # fibrinogen, older name
    227469: (51297, 52948),  # thrombin time
    225686: (51297, 52948),  # thrombin time, older name
    227470: (51288,),  # sedimentation rate
    225683: (51288,),  # sedimentation rate, older name
    225636: (50915, 51196, 52551),  # D-dimer
    228240: (50915, 51196, 52551),  # D-dimer, older name
    225637: (51143,),  # atypical lymphocytes
    225638: (51144,),  # bands
    225639: (51146,),  # basophils
    225640: (51200,),  # eosinophils
    225641: (51244,),  # lymphocytes
    225642: (51254,),  # monocytes
    225643: (51256,),  # neutrophils
    229355: (52075,),  # neutrophils, absolute
    229356: (52135,),  # immature granulocytes
    229357: (52075,),  # neutrophils, absolute
    229358: (51133,),  # lymphocytes, absolute
    229359: (52074,),  # monocytes, absolute
    229360: (52073,),  # eosinophils, absolute
    229361: (52069,),  # basophils, absolute
    229362: (51282,),  # reticulocytes, absolute
    225692: (51218,),  # granulocyte count
    229372: (51140,),  # antithrombin
    229374: (51140,),  # antithrombin
    229373: (51228,),  # heparin, anti-Xa
    229375: (51228,),  # heparin, anti-Xa
    # urine
    220734: (51491,),  # pH, dipstick
    227471: (51498,),  # specific gravity
    220799: (51498,),  # specific gravity, older name
}
"""`icu.chartevents` itemid → the `hosp.labevents` itemids that it copies."""
