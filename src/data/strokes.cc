#include "data/strokes.h"

namespace carillon {
namespace {

using P = PenPoint;

constexpr P kZero[] = {{0.12f, -0.49f}, {-0.22f, -0.44f}, {-0.42f, -0.12f}, {-0.40f, 0.22f},
                       {-0.12f, 0.49f}, {0.22f, 0.44f},   {0.42f, 0.12f},   {0.40f, -0.22f},
                       {0.16f, -0.47f}, {-0.05f, -0.46f}};
constexpr P kZeroOpen[] = {{-0.05f, -0.42f}, {-0.34f, -0.26f}, {-0.41f, 0.10f},
                           {-0.22f, 0.43f},  {0.12f, 0.48f},   {0.38f, 0.22f},
                           {0.40f, -0.14f},  {0.22f, -0.43f},  {-0.02f, -0.50f}};
constexpr PenStroke kZeros[][1] = {{{kZero}}, {{kZeroOpen}}};

constexpr P kOnePlain[] = {{0.05f, -0.50f}, {0.01f, 0.0f}, {-0.05f, 0.50f}};
constexpr P kOneFlag[] = {{-0.24f, -0.28f}, {-0.08f, -0.38f}, {0.05f, -0.50f}};
constexpr P kOneStem[] = {{0.05f, -0.50f}, {0.04f, 0.0f}, {0.03f, 0.50f}};
constexpr P kOneBase[] = {{-0.24f, 0.49f}, {0.04f, 0.48f}, {0.30f, 0.49f}};
constexpr PenStroke kOneA[] = {{kOnePlain}};
constexpr PenStroke kOneB[] = {{kOneFlag}, {kOneStem}};
constexpr PenStroke kOneC[] = {{kOneFlag}, {kOneStem}, {kOneBase}};

constexpr P kTwoArc[] = {{-0.38f, -0.26f}, {-0.24f, -0.45f}, {0.08f, -0.50f}, {0.36f, -0.32f},
                         {0.28f, -0.02f},  {-0.06f, 0.26f},  {-0.40f, 0.47f}};
constexpr P kTwoFoot[] = {{-0.40f, 0.47f}, {0.02f, 0.45f}, {0.44f, 0.46f}};
constexpr P kTwoLoop[] = {{-0.36f, -0.30f}, {-0.16f, -0.48f}, {0.16f, -0.47f}, {0.34f, -0.24f},
                          {0.18f, 0.06f},   {-0.14f, 0.36f},  {-0.38f, 0.44f}, {-0.34f, 0.28f},
                          {-0.10f, 0.32f},  {0.16f, 0.46f},   {0.44f, 0.40f}};
constexpr PenStroke kTwoA[] = {{kTwoArc}, {kTwoFoot}};
constexpr PenStroke kTwoB[] = {{kTwoLoop}};

constexpr P kThreeUpper[] = {{-0.36f, -0.38f}, {-0.08f, -0.50f}, {0.28f, -0.42f},
                             {0.32f, -0.18f},  {0.04f, -0.04f},  {-0.12f, -0.02f}};
constexpr P kThreeLower[] = {{-0.12f, -0.02f}, {0.20f, 0.02f},  {0.40f, 0.20f},
                             {0.28f, 0.44f},   {-0.06f, 0.50f}, {-0.40f, 0.38f}};
constexpr P kThreeTop[] = {{-0.36f, -0.46f}, {0.0f, -0.48f}, {0.34f, -0.47f}};
constexpr P kThreeSlash[] = {{0.34f, -0.47f}, {0.16f, -0.26f}, {-0.02f, -0.08f}};
constexpr P kThreeBelly[] = {{-0.02f, -0.08f}, {0.30f, 0.0f},   {0.40f, 0.24f},
                             {0.16f, 0.48f},   {-0.20f, 0.48f}, {-0.40f, 0.36f}};
constexpr PenStroke kThreeA[] = {{kThreeUpper}, {kThreeLower}};
constexpr PenStroke kThreeB[] = {{kThreeTop}, {kThreeSlash}, {kThreeBelly}};

constexpr P kFourOpenLeft[] = {{-0.28f, -0.48f}, {-0.36f, -0.20f}, {-0.38f, 0.06f}};
constexpr P kFourOpenBar[] = {{-0.38f, 0.06f}, {0.02f, 0.08f}, {0.42f, 0.04f}};
constexpr P kFourOpenStem[] = {{0.24f, -0.44f}, {0.22f, 0.04f}, {0.18f, 0.50f}};
constexpr P kFourSlant[] = {{0.18f, -0.50f}, {-0.14f, -0.16f}, {-0.43f, 0.16f}};
constexpr P kFourBar[] = {{-0.43f, 0.16f}, {0.0f, 0.17f}, {0.45f, 0.15f}};
constexpr P kFourStem[] = {{0.18f, -0.50f}, {0.18f, 0.0f}, {0.17f, 0.50f}};
constexpr PenStroke kFourA[] = {{kFourOpenLeft}, {kFourOpenBar}, {kFourOpenStem}};
constexpr PenStroke kFourB[] = {{kFourSlant}, {kFourBar}, {kFourStem}};

constexpr P kFiveTop[] = {{0.38f, -0.48f}, {0.05f, -0.47f}, {-0.26f, -0.46f}};
constexpr P kFiveNeck[] = {{-0.26f, -0.46f}, {-0.30f, -0.26f}, {-0.34f, -0.07f}};
constexpr P kFiveBelly[] = {{-0.34f, -0.07f}, {0.02f, -0.15f}, {0.35f, 0.02f},
                            {0.36f, 0.30f},   {0.06f, 0.50f},  {-0.38f, 0.40f}};
constexpr P kFiveSwing[] = {{0.40f, -0.46f}, {-0.06f, -0.45f}, {-0.32f, -0.26f}, {-0.02f, -0.06f},
                            {0.32f, 0.16f},  {0.16f, 0.45f},   {-0.36f, 0.44f}};
constexpr PenStroke kFiveA[] = {{kFiveTop}, {kFiveNeck}, {kFiveBelly}};
constexpr PenStroke kFiveB[] = {{kFiveSwing}};

constexpr P kSix[] = {{0.28f, -0.48f}, {-0.10f, -0.32f}, {-0.35f, 0.04f},
                      {-0.32f, 0.36f}, {0.0f, 0.50f},    {0.32f, 0.36f},
                      {0.32f, 0.10f},  {0.02f, 0.01f},   {-0.30f, 0.20f}};
constexpr P kSixSteep[] = {{0.06f, -0.50f}, {-0.20f, -0.16f}, {-0.34f, 0.20f}, {-0.16f, 0.48f},
                           {0.22f, 0.45f},  {0.32f, 0.20f},   {0.08f, 0.06f},  {-0.26f, 0.24f}};
constexpr PenStroke kSixes[][1] = {{{kSix}}, {{kSixSteep}}};

constexpr P kSevenTop[] = {{-0.40f, -0.45f}, {0.0f, -0.47f}, {0.40f, -0.46f}};
constexpr P kSevenStem[] = {{0.40f, -0.46f}, {0.12f, 0.0f}, {-0.08f, 0.50f}};
constexpr P kSevenCross[] = {{-0.18f, 0.03f}, {0.08f, 0.01f}, {0.34f, 0.0f}};
constexpr P kSevenHook[] = {{-0.40f, -0.28f}, {-0.36f, -0.44f}, {0.0f, -0.46f}, {0.38f, -0.45f}};
constexpr P kSevenBent[] = {{0.38f, -0.45f}, {0.20f, -0.06f}, {0.12f, 0.50f}};
constexpr PenStroke kSevenA[] = {{kSevenTop}, {kSevenStem}};
constexpr PenStroke kSevenB[] = {{kSevenTop}, {kSevenStem}, {kSevenCross}};
constexpr PenStroke kSevenC[] = {{kSevenHook}, {kSevenBent}};

constexpr P kEightSwing[] = {{0.30f, -0.36f}, {0.0f, -0.50f},  {-0.30f, -0.34f}, {-0.18f, -0.10f},
                             {0.14f, 0.06f},  {0.36f, 0.28f},  {0.04f, 0.50f},   {-0.34f, 0.30f},
                             {-0.14f, 0.05f}, {0.18f, -0.12f}, {0.30f, -0.34f}};
constexpr P kEightUpper[] = {{0.0f, -0.03f},  {-0.28f, -0.20f}, {-0.15f, -0.46f},
                             {0.16f, -0.47f}, {0.28f, -0.22f},  {0.0f, -0.03f}};
constexpr P kEightLower[] = {{0.0f, -0.03f}, {-0.34f, 0.20f}, {-0.18f, 0.47f},
                             {0.20f, 0.47f}, {0.35f, 0.20f},  {0.0f, -0.03f}};
constexpr PenStroke kEightA[] = {{kEightSwing}};
constexpr PenStroke kEightB[] = {{kEightUpper}, {kEightLower}};

constexpr P kNineHead[] = {{0.30f, -0.32f},  {0.02f, -0.49f}, {-0.31f, -0.32f},
                           {-0.26f, -0.06f}, {0.06f, -0.03f}, {0.30f, -0.30f}};
constexpr P kNineTail[] = {{0.30f, -0.32f}, {0.27f, 0.08f}, {0.16f, 0.50f}};
constexpr P kNineCurl[] = {{0.30f, -0.32f}, {0.30f, 0.12f}, {0.12f, 0.44f}, {-0.28f, 0.43f}};
constexpr PenStroke kNineA[] = {{kNineHead}, {kNineTail}};
constexpr PenStroke kNineB[] = {{kNineHead}, {kNineCurl}};

constexpr Handwriting kWays0[] = {kZeros[0], kZeros[1]};
constexpr Handwriting kWays1[] = {kOneA, kOneB, kOneC};
constexpr Handwriting kWays2[] = {kTwoA, kTwoB};
constexpr Handwriting kWays3[] = {kThreeA, kThreeB};
constexpr Handwriting kWays4[] = {kFourA, kFourB};
constexpr Handwriting kWays5[] = {kFiveA, kFiveB};
constexpr Handwriting kWays6[] = {kSixes[0], kSixes[1]};
constexpr Handwriting kWays7[] = {kSevenA, kSevenB, kSevenC};
constexpr Handwriting kWays8[] = {kEightA, kEightB};
constexpr Handwriting kWays9[] = {kNineA, kNineB};

}  // namespace

std::span<const Handwriting> WaysToWrite(int digit) {
  switch (digit) {
    case 0:
      return kWays0;
    case 1:
      return kWays1;
    case 2:
      return kWays2;
    case 3:
      return kWays3;
    case 4:
      return kWays4;
    case 5:
      return kWays5;
    case 6:
      return kWays6;
    case 7:
      return kWays7;
    case 8:
      return kWays8;
    default:
      return kWays9;
  }
}

}  // namespace carillon
