// A user's program: all that it knows of Carillon is what find_package(Carillon) gives.
#include <cstdio>

#include <carillon/tensor.h>

int main() {
  const carillon::Tensor t = carillon::Tensor::FromVector<float>({1, 2, 3, 4}, {2, 2});
  std::printf("%s\n", t.ToString().c_str());
  return t.num_elements() == 4 ? 0 : 1;
}
