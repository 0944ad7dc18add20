#include "carillon/ops/list.h"

#include <gtest/gtest.h>

#include "carillon/gradients.h"
#include "carillon/ops/array.h"
#include "carillon/ops/control_flow.h"
#include "carillon/ops/math.h"
#include "gradient_checker.h"

namespace carillon {
namespace {

class ListGradients : public ::testing::Test {
 protected:
  Graph g_;
  Output x_ = Placeholder(g_, kDouble, {3, 2});
  const std::vector<Tensor> value_ = {RandomTensor(kDouble, {3, 2}, 3)};
};

TEST_F(ListGradients, ArraysReadTwice) {
  auto [handle, flow] = TensorArrayV3(g_, 3, kDouble, {.clear_after_read = false});
  flow = TensorArrayScatterV3(handle, {0, 1, 2}, x_, flow);
  const Output a = TensorArrayReadV3(handle, 1, flow, kDouble);
  const Output all = TensorArrayGatherV3(handle, {1, 2, 1}, flow, kDouble);
  CheckGradients({Square(a), all * all}, {x_}, value_);
}

TEST_F(ListGradients, ArraysOfParts) {
  auto [handle, flow] = TensorArrayV3(g_, 2, kDouble);
  flow = TensorArraySplitV3(handle, x_, Tensor::FromVector<int64_t>({1, 2}), flow);
  CheckGradients({Square(TensorArrayConcatV3(handle, flow, kDouble).value)}, {x_}, value_);
}

TEST_F(ListGradients, Lists) {
  const Input any = -1;
  Output list = TensorListFromTensor(x_, {2});
  list = TensorListSetItem(list, 0, TensorListGetItem(list, 2, {2}, kDouble) * 3.0);
  list = TensorListPushBack(list, TensorListGetItem(list, 1, {2}, kDouble));
  const auto [rest, last] = TensorListPopBack(list, {2}, kDouble);
  CheckGradients({Square(TensorListStack(rest, any, kDouble)), last * last}, {x_}, value_);
}

TEST_F(ListGradients, TwoCallsDoNotMix) {
  auto [handle, flow] = TensorArrayV3(g_, 1, kDouble, {.clear_after_read = false});
  flow = TensorArrayWriteV3(handle, 0, x_, flow);
  const Output y = TensorArrayReadV3(handle, 0, flow, kDouble);
  const Output first = Gradients({y}, {x_})[0].tensor(), second = Gradients({y}, {x_})[0].tensor();
  Session session(g_);
  for (const Tensor& gradient : session.Run({first, second}, {{x_, value_[0]}}))
    EXPECT_EQ(gradient.data<double>()[0], 1);
}

}  // namespace
}  // namespace carillon
