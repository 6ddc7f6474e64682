"""The streams of random numbers of a person: a number for each part of the body that draws details of
its own, so that none shifts the numbers of another.

A number is part of a seed: another one would make other people.
"""

from enum import IntEnum


class Stream(IntEnum):
    """The streams of a person, by what they fix; 0 is that of the person as a whole, since keys are
    padded with zeros.

    The stream of a left side is followed by that of the right one.  Three numbers serve two parts
    each, which draw the same numbers: 40, 74 and 973.  No effect was found.  62 serves women or men.
    """

    SPINAL_CORD_END = 12
    LUNG_VESSELS = 21
    HEART_SIZE = 22
    PLAIN_LIVER = 31
    UPPER_ORGANS = 32
    STOMACH = 33
    COLON = 34
    BLADDER = 35
    SMALL_BOWEL = 36
    VARIED_LIVER = 37
    ERECTOR_SPINAE = 38
    LUNG_RECESS = 39
    KIDNEY_FAT = 40
    LEFT_ARM = 40
    RIGHT_ARM = 42
    ILIAC_CREST_FAT = 44
    BRAIN = 51
    NASAL_CAVITY = 52
    SKULL_THICKNESS = 54
    NECK_MUSCLES = 55
    SKULL_BASE = 56
    CISTERNS = 57
    BRAIN_ARTERIES = 58
    SULCI = 59
    KNEE_FLUID = 61
    FIBROIDS = 62
    PROSTATE = 62
    INGUINAL_NODES = 63
    LEFT_VENTRICLE = 64
    SPINE = 65
    TISSUE_TEXTURE = 66
    BREASTS = 71
    LEFT_BREAST_SIZE = 72
    HANGING_BREASTS = 74
    RIGHT_VENTRICLE_RIDGES = 74
    BLADDER_WALL = 75
    PROSTATIC_PLEXUS = 76
    UTERINE_ZONES = 77
    BREAST_STRUCTURE = 79
    UNCOMMON_TRAITS = 91
    DEFORMATION = 92
    TABLE = 93
    BOWEL_FILLING = 94
    BENT_KNEES = 95
    FIGURE = 96
    SWELLING = 97
    SWELLING_SHAPE = 98
    SULCUS_BENDS = 592
    NAPE = 593
    BELOW_MIDDLE_CRANIAL_FOSSA = 594
    LEFT_KNEE_AGE = 611
    HEART_SHAPE = 641
    EPICARDIAL_FAT = 642
    THIGH_MUSCLES = 710
    LEFT_THIGH_MUSCLES = 711
    LEFT_CALF_MUSCLES = 713
    CALF_MUSCLES = 720
    LEG_FAT = 780
    LEG_OUTLINE = 781
    LESIONS = 782
    WHITE_MATTER_LESIONS = 783
    BREAST_MASS = 784
    LEG_SUPPORT = 785
    LEG_MASS = 786
    LEG_MASS_TISSUE = 787
    VESSEL_TREES = 900
    LEFT_VENTRICLE_TRABECULAE = 901
    LEFT_VENTRICLE_FAT = 902
    RIGHT_VENTRICLE_TRABECULAE = 903
    STOMACH_CONTENT = 904
    RIGHT_HEART_FAT = 905
    ILIAC_WINGS = 920
    KIDNEYS = 921
    RIEDEL_LOBE_PRESENCE = 922
    RIEDEL_LOBE = 923
    PSOAS = 924
    BOWEL_COLLAPSE = 925
    MESENTERY = 926
    LEFT_AXILLA = 940
    LEFT_SHOULDER_JOINT = 942
    ROTATOR_CUFF = 944
    KNEE_SOFT_TISSUE = 945
    INGUINAL_FAT = 946
    GLUTEUS_MAXIMUS_END = 947
    SKIN_ROLLS = 961
    BUILD = 970
    CROSS_SECTIONS = 971
    ORGAN_HEIGHTS = 972
    ABDOMINAL_WALL_GAPS = 973
    BORDERS = 973
    RAISED_ARMS = 974
    OWN_BREASTS = 7300
    BUST = 7301
    LEFT_BREAST_VOLUME = 7302
    LEFT_BREAST_SHAPE = 7304
    BREAST_POSITION = 7306
    HANGING_SHAPE = 7307
    LYING_SHAPE = 7308
    PECTORAL_FRONT = 7310
    GLAND = 7320
    LEFT_GLAND = 7321
    LEFT_GLAND_STRANDS = 7323
    GLAND_STRAND_COUNT = 7325
    GLAND_STRAND_THICKNESS = 7326
    LEFT_BREAST_VEINS = 7327
    LEFT_AXILLARY_TAIL = 7330
    BREAST_FINDINGS = 7340
