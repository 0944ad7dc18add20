// What this machine can do at most, measured with loops that do nothing else.
#pragma once

namespace bench {

struct Peak {
  double flops = 0;             // float32 operations a second; a multiply-add counts as two
  double bytes_per_second = 0;  // to and from memory, by streams of 128 MB each
};

// With all of `threads` at work. Takes about half a second on an idle machine.
Peak MeasurePeak(int threads);

}  // namespace bench
