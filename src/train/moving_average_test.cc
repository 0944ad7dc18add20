#include "carillon/moving_average.h"

#include <gtest/gtest.h>

#include "carillon/error.h"
#include "carillon/ops/array.h"
#include "carillon/session.h"

namespace carillon {
namespace {

// The expected values are TensorFlow 2.21's.

void ExpectValue(Session& session, const Variable& variable, const std::vector<float>& expected) {
  const Tensor value = session.Run(variable.read());
  ASSERT_EQ(value.num_elements(), static_cast<int64_t>(expected.size()));
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(value.values<float>()[i], expected[i], 2e-6) << "element " << i;
}

TEST(ExponentialMovingAverage, OfAVariableStartsAtItsInitialValue) {
  Graph g;
  const Variable v(g, "v", Tensor::FromVector<float>({10, 20}));
  const Output value = Placeholder(g, kFloat, {2});
  const Operation set = v.Assign(value);
  ExponentialMovingAverage averages(0.9);
  const Operation update = averages.Apply(std::vector{v});
  EXPECT_EQ(averages.average(v).name(), "v/ExponentialMovingAverage");
  EXPECT_EQ(update.name(), "ExponentialMovingAverage");
  Session session(g);
  session.Run(GlobalVariablesInitializer(g));
  ExpectValue(session, averages.average(v), {10, 20});
  for (int i = 0; i < 3; ++i) {
    session.Run(set, {{value, Tensor::FromVector<float>({1.0f * i, 5.0f * i})}});
    session.Run(update);
  }
  ExpectValue(session, averages.average(v), {7.57999992f, 16.0299988f});
}

TEST(ExponentialMovingAverage, FollowsFastWhileThereAreFewUpdates) {
  Graph g;
  const Variable v(g, "v", Tensor::FromVector<float>({10, 20}), {.use_resource = false});
  const Output value = Placeholder(g, kFloat, {2}), updates = Placeholder(g, kInt64, {});
  const Operation set = v.Assign(value);
  ExponentialMovingAverage averages(0.9, {.num_updates = updates});
  const Operation update = averages.Apply(std::vector{v});
  Session session(g);
  session.Run(GlobalVariablesInitializer(g));
  for (int i = 0; i < 3; ++i) {
    session.Run(set, {{value, Tensor::FromVector<float>({1.0f * i, 5.0f * i})}});
    session.Run(update, {{updates, Tensor::Scalar<int64_t>(i)}});
  }
  ExpectValue(session, averages.average(v), {1.75f, 8.61363602f});
}

TEST(ExponentialMovingAverage, OfATensorStartsAtZero) {
  Graph g;
  const Output t = Placeholder(g, kFloat, {2});
  ExponentialMovingAverage plain(0.9), debiased(0.9, {.zero_debias = true, .name = "debiased"});
  const Operation update = plain.Apply(std::vector{t}),
                  update_debiased = debiased.Apply(std::vector{t});
  Session session(g);
  session.Run(GlobalVariablesInitializer(g));
  for (int i = 0; i < 3; ++i) {
    const Feeds feeds = {{t, Tensor::FromVector<float>({1.0f + i, 5.0f * i})}};
    session.Run(update, feeds);
    session.Run(update_debiased, feeds);
  }
  ExpectValue(session, plain.average(t), {0.561000109f, 1.45000029f});
  ExpectValue(session, debiased.average(t), {2.07011032f, 5.35055304f});
  EXPECT_EQ(g.FindOperation("Placeholder/debiased/biased").type(), "VarHandleOp");
  EXPECT_EQ(g.FindOperation("Placeholder/debiased/local_step").type(), "VarHandleOp");
}

TEST(ExponentialMovingAverage, RefusesWhatItCannotAverage) {
  Graph g;
  const Variable v(g, "v", Tensor::Scalar(1.0f)), n(g, "n", Tensor::Scalar(1));
  ExponentialMovingAverage averages(0.9);
  EXPECT_THROW(averages.average(v), Error);
  averages.Apply(std::vector{v});
  EXPECT_THROW(averages.Apply(std::vector{v}), Error);
  EXPECT_THROW(averages.Apply(std::vector{n}), Error);
  EXPECT_THROW(averages.Apply(std::vector{Placeholder(g, kFloat, {-1})}), Error);
}

}  // namespace
}  // namespace carillon
