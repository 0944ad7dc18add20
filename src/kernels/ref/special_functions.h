// Functions that the C++ library does not have, or not in a form that threads may share.
#pragma once

namespace carillon {

// The logarithm of |Γ(x)|. Unlike std::lgamma it writes no global.
double LogGamma(double x);
float LogGamma(float x);

// Γ'(x) / Γ(x). NaN at zero and the negative integers.
double Digamma(double x);
inline float Digamma(float x) { return static_cast<float>(Digamma(static_cast<double>(x))); }

// The x at which the normal distribution function reaches p; ±∞ at 0 and 1, NaN outside.
double NormalQuantile(double p);
inline float NormalQuantile(float p) {
  return static_cast<float>(NormalQuantile(static_cast<double>(p)));
}

// The x whose erf is y; ±∞ at ±1, NaN outside.
double ErfInverse(double y);
inline float ErfInverse(float y) { return static_cast<float>(ErfInverse(static_cast<double>(y))); }

}  // namespace carillon
