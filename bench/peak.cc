#include "peak.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace bench {
namespace {

using Clock = std::chrono::steady_clock;

// How often a second all threads together can do work(thread, try), which each does at the same
// time as the others. Of each thread the best tenth of its tries counts, so that other programs
// disturb little.
double TimesPerSecond(int threads, int tries, const std::function<void(int, int)>& work) {
  std::vector<double> seconds(static_cast<size_t>(threads));
  std::barrier together(threads);
  std::vector<std::thread> pool;
  for (int thread = 0; thread < threads; ++thread) {
    pool.emplace_back([&, thread] {
      std::vector<double> times;
      for (int i = 0; i < tries; ++i) {
        together.arrive_and_wait();
        const Clock::time_point start = Clock::now();
        work(thread, i);
        times.push_back(std::chrono::duration<double>(Clock::now() - start).count());
      }
      std::ranges::sort(times);
      seconds[static_cast<size_t>(thread)] = times[times.size() / 10];
    });
  }
  for (std::thread& thread : pool) thread.join();
  double sum = 0;
  for (const double of_thread : seconds) sum += 1 / of_thread;
  return sum;
}

// As wide as this machine's registers; enough of them to hide how long an operation takes.
#if defined(__AVX512F__)
constexpr size_t kLanes = 16, kChains = 24;
#elif defined(__AVX__)
constexpr size_t kLanes = 8, kChains = 12;
#else
constexpr size_t kLanes = 4, kChains = 12;
#endif
using Vector [[gnu::vector_size(kLanes * sizeof(float))]] = float;

constexpr size_t kRounds = 100'000;

float MultiplyAdd(float factor) {
  std::array<Vector, kChains> sums;
  for (size_t i = 0; i < kChains; ++i) sums[i] = Vector{} + factor * static_cast<float>(i);
  for (size_t round = 0; round < kRounds; ++round) {
#pragma GCC unroll 24  // so that all sums stay in registers
    for (size_t i = 0; i < kChains; ++i) sums[i] = sums[i] * factor + 1.0f;
  }
  Vector total{};
  for (const Vector& sum : sums) total += sum;
  return total[0];
}

}  // namespace

Peak MeasurePeak(int threads) {
  Peak peak;
  std::atomic<float> sink = 0;
  const double compute = TimesPerSecond(threads, 50, [&](int thread, int) {
    sink.store(MultiplyAdd(0.5f + 0.01f * static_cast<float>(thread)));
  });
  peak.flops = 2.0 * kLanes * kChains * kRounds * compute;

  // a = b + c / 2: three streams, as elementwise kernels have, a piece at a time.
  constexpr size_t kPiece = size_t{256} << 10, kPieces = 128;
  std::vector<std::unique_ptr<float[]>> memory;
  for (int i = 0; i < 3 * threads; ++i)
    memory.push_back(std::make_unique<float[]>(kPiece * kPieces));
  const double stream = TimesPerSecond(threads, 3 * kPieces, [&](int thread, int i) {
    const size_t begin = kPiece * (static_cast<size_t>(i) % kPieces);
    float* a = memory[static_cast<size_t>(3 * thread)].get() + begin;
    const float* b = memory[static_cast<size_t>(3 * thread + 1)].get() + begin;
    const float* c = memory[static_cast<size_t>(3 * thread + 2)].get() + begin;
    for (size_t j = 0; j < kPiece; ++j) a[j] = b[j] + 0.5f * c[j];
  });
  peak.bytes_per_second = 3.0 * sizeof(float) * kPiece * stream;
  return peak;
}

}  // namespace bench
