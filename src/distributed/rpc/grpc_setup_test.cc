#include "distributed/rpc/grpc_setup.h"

#include <cstdlib>
#include <gtest/gtest.h>

namespace carillon {
namespace {

TEST(ProxyVariableTest, IsFoundInEitherCase) {
  for (const char* name :
       {"grpc_proxy", "http_proxy", "https_proxy", "GRPC_PROXY", "HTTP_PROXY", "HTTPS_PROXY"})
    unsetenv(name);
  EXPECT_EQ(ProxyVariable(), "");
  setenv("http_proxy", "", 1);
  EXPECT_EQ(ProxyVariable(), "");
  setenv("HTTPS_PROXY", "http://nowhere.invalid:1", 1);
  EXPECT_EQ(ProxyVariable(), "HTTPS_PROXY");
  unsetenv("HTTPS_PROXY");
  unsetenv("http_proxy");
}

}  // namespace
}  // namespace carillon
