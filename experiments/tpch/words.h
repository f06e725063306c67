// The words of TPC-H's rows: the lists of clause 4.2.2.13, nations with their regions (4.2.3).
//
// Thread-safety: constants.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace palimpsest::experiments::tpch {

struct Nation {
  std::string_view name;
  std::int32_t region;
};

inline constexpr std::array<std::string_view, 5> kRegionNames{"AFRICA", "AMERICA", "ASIA", "EUROPE",
                                                              "MIDDLE EAST"};

/// By their keys.
inline constexpr std::array<Nation, 25> kNationNames{
    {{"ALGERIA", 0},      {"ARGENTINA", 1}, {"BRAZIL", 1}, {"CANADA", 1},
     {"EGYPT", 4},        {"ETHIOPIA", 0},  {"FRANCE", 3}, {"GERMANY", 3},
     {"INDIA", 2},        {"INDONESIA", 2}, {"IRAN", 4},   {"IRAQ", 4},
     {"JAPAN", 2},        {"JORDAN", 4},    {"KENYA", 0},  {"MOROCCO", 0},
     {"MOZAMBIQUE", 0},   {"PERU", 1},      {"CHINA", 2},  {"ROMANIA", 3},
     {"SAUDI ARABIA", 4}, {"VIETNAM", 2},   {"RUSSIA", 3}, {"UNITED KINGDOM", 3},
     {"UNITED STATES", 1}}};

/// Of names of parts.
inline constexpr std::array<std::string_view, 92> kColours{
    "almond",   "antique",   "aquamarine", "azure",      "beige",     "bisque",    "black",
    "blanched", "blue",      "blush",      "brown",      "burlywood", "burnished", "chartreuse",
    "chiffon",  "chocolate", "coral",      "cornflower", "cornsilk",  "cream",     "cyan",
    "dark",     "deep",      "dim",        "dodger",     "drab",      "firebrick", "floral",
    "forest",   "frosted",   "gainsboro",  "ghost",      "goldenrod", "green",     "grey",
    "honeydew", "hot",       "indian",     "ivory",      "khaki",     "lace",      "lavender",
    "lawn",     "lemon",     "light",      "lime",       "linen",     "magenta",   "maroon",
    "medium",   "metallic",  "midnight",   "mint",       "misty",     "moccasin",  "navajo",
    "navy",     "olive",     "orange",     "orchid",     "pale",      "papaya",    "peach",
    "peru",     "pink",      "plum",       "powder",     "puff",      "purple",    "red",
    "rose",     "rosy",      "royal",      "saddle",     "salmon",    "sandy",     "seashell",
    "sienna",   "sky",       "slate",      "smoke",      "snow",      "spring",    "steel",
    "tan",      "thistle",   "tomato",     "turquoise",  "violet",    "wheat",     "white",
    "yellow"};

// A type of a part is one of each.
inline constexpr std::array<std::string_view, 6> kTypeSizes{"STANDARD", "SMALL",   "MEDIUM",
                                                            "LARGE",    "ECONOMY", "PROMO"};
inline constexpr std::array<std::string_view, 5> kTypeFinishes{"ANODIZED", "BURNISHED", "PLATED",
                                                               "POLISHED", "BRUSHED"};
inline constexpr std::array<std::string_view, 5> kTypeMetals{"TIN", "NICKEL", "BRASS", "STEEL",
                                                             "COPPER"};

// A container is one of each.
inline constexpr std::array<std::string_view, 5> kContainerSizes{"SM", "LG", "MED", "JUMBO",
                                                                 "WRAP"};
inline constexpr std::array<std::string_view, 8> kContainerKinds{"CASE", "BOX",  "BAG", "JAR",
                                                                 "PKG",  "PACK", "CAN", "DRUM"};

inline constexpr std::array<std::string_view, 5> kSegments{"AUTOMOBILE", "BUILDING", "FURNITURE",
                                                           "MACHINERY", "HOUSEHOLD"};
inline constexpr std::array<std::string_view, 5> kPriorities{"1-URGENT", "2-HIGH", "3-MEDIUM",
                                                             "4-NOT SPECIFIED", "5-LOW"};
inline constexpr std::array<std::string_view, 4> kInstructions{"DELIVER IN PERSON", "COLLECT COD",
                                                               "NONE", "TAKE BACK RETURN"};
inline constexpr std::array<std::string_view, 7> kModes{"REG AIR", "AIR",  "RAIL", "SHIP",
                                                        "TRUCK",   "MAIL", "FOB"};

}  // namespace palimpsest::experiments::tpch
