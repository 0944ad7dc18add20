#include "kernels/ref/special_functions.h"

#include <cmath>
#include <cstddef>
#include <limits>
#include <math.h>

namespace carillon {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// coefficients[0] + x (coefficients[1] + x (…)).
template <size_t n>
double Polynomial(double x, const double (&coefficients)[n]) {
  double sum = coefficients[n - 1];
  for (size_t i = n - 1; i-- > 0;) sum = sum * x + coefficients[i];
  return sum;
}

// The normal quantile at 1/2 + q, where `tail` is the smaller of that and its complement, given
// apart because it may be much more exact than 1/2 - |q|. The three rational approximations are
// those of Wichura's algorithm AS 241 (Applied Statistics, 1988), good to 16 digits.
double QuantileFromCentre(double q, double tail) {
  if (std::abs(q) <= 0.425) {
    constexpr double kA[] = {3.3871328727963666080e0,  1.3314166789178437745e+2,
                             1.9715909503065514427e+3, 1.3731693765509461125e+4,
                             4.5921953931549871457e+4, 6.7265770927008700853e+4,
                             3.3430575583588128105e+4, 2.5090809287301226727e+3};
    constexpr double kB[] = {1.0,
                             4.2313330701600911252e+1,
                             6.8718700749205790830e+2,
                             5.3941960214247511077e+3,
                             2.1213794301586595867e+4,
                             3.9307895800092710610e+4,
                             2.8729085735721942674e+4,
                             5.2264952788528545610e+3};
    const double r = 0.180625 - q * q;
    return q * Polynomial(r, kA) / Polynomial(r, kB);
  }
  if (tail <= 0) return tail < 0 ? kNan : std::copysign(kInfinity, q);
  double r = std::sqrt(-std::log(tail));
  double x;
  if (r <= 5) {
    constexpr double kC[] = {1.42343711074968357734e0,  4.63033784615654529590e0,
                             5.76949722146069140550e0,  3.64784832476320460504e0,
                             1.27045825245236838258e0,  2.41780725177450611770e-1,
                             2.27238449892691845833e-2, 7.74545014278341407640e-4};
    constexpr double kD[] = {1.0,
                             2.05319162663775882187e0,
                             1.67638483018380384940e0,
                             6.89767334985100004550e-1,
                             1.48103976427480074590e-1,
                             1.51986665636164571966e-2,
                             5.47593808499534494600e-4,
                             1.05075007164441684324e-9};
    r -= 1.6;
    x = Polynomial(r, kC) / Polynomial(r, kD);
  } else {
    constexpr double kE[] = {6.65790464350110377720e0,  5.46378491116411436990e0,
                             1.78482653991729133580e0,  2.96560571828504891230e-1,
                             2.65321895265761230930e-2, 1.24266094738807843860e-3,
                             2.71155556874348757815e-5, 2.01033439929228813265e-7};
    constexpr double kF[] = {1.0,
                             5.99832206555887937690e-1,
                             1.36929880922735805310e-1,
                             1.48753612908506148525e-2,
                             7.86869131145613259100e-4,
                             1.84631831751005468180e-5,
                             1.42151175831644588870e-7,
                             2.04426310338993978564e-15};
    r -= 5;
    x = Polynomial(r, kE) / Polynomial(r, kF);
  }
  return std::copysign(x, q);
}

}  // namespace

double LogGamma(double x) {
  int sign;
  return ::lgamma_r(x, &sign);
}
float LogGamma(float x) {
  int sign;
  return ::lgammaf_r(x, &sign);
}

double Digamma(double x) {
  if (x == -kInfinity) return kNan;
  double result = 0;
  if (x <= 0) {
    if (x == std::floor(x)) return kNan;
    // Reflection: ψ(1 - x) - ψ(x) = π cot(πx).
    result = -kPi / std::tan(kPi * (x - std::floor(x)));
    x = 1 - x;
  }
  // ψ(x + 1) = ψ(x) + 1/x lifts x to where the asymptotic series is exact.
  for (; x < 10; x += 1) result -= 1 / x;
  constexpr double kSeries[] = {-1.0 / 12,  1.0 / 120,     -1.0 / 252, 1.0 / 240,
                                -1.0 / 132, 691.0 / 32760, -1.0 / 12};
  const double inverse_square = 1 / (x * x);
  return result + std::log(x) - 0.5 / x + inverse_square * Polynomial(inverse_square, kSeries);
}

double NormalQuantile(double p) {
  if (!(p >= 0 && p <= 1)) return kNan;
  return QuantileFromCentre(p - 0.5, p < 0.5 ? p : 1 - p);
}

double ErfInverse(double y) {
  if (!(std::abs(y) <= 1)) return kNan;
  constexpr double kSqrtHalf = 0.70710678118654752440;
  return kSqrtHalf * QuantileFromCentre(0.5 * y, 0.5 * (1 - std::abs(y)));
}

}  // namespace carillon
