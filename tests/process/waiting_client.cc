// waiting_client TARGET: feeds a server some megabytes and waits in a step that never ends, for
// tests that kill it there.
#include <cstdio>

#include "carillon/carillon.h"

int main(int argc, char** argv) {
  using namespace carillon;
  if (argc != 2) return 2;
  Graph g;
  const Output x = Placeholder(g, kFloat, {-1});
  const Output queue = FIFOQueue(g, {kFloat}, {.capacity = 1});
  const Output kept = x * 2.0f;
  const Output never = QueueDequeue(queue)[0] + Sum(kept);
  Session session(argv[1], g);
  session.Run(kept, {{x, Tensor::Full<float>({1 << 20}, 1.0f)}});
  std::puts("waiting");
  std::fflush(stdout);
  session.Run({never}, {{x, Tensor::Full<float>({1 << 20}, 1.0f)}});
  return 1;
}
