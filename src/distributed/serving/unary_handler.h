// UnaryHandler: answers calls of one request and one answer.
#pragma once

#include <memory>
#include <utility>

#include "distributed/serving/served_call.h"

namespace carillon {

class UnaryHandler : public CallHandler {
 public:
  explicit UnaryHandler(std::shared_ptr<ServedCall> call) : call_(std::move(call)) {}
  bool takes_one_message() const final { return true; }

 protected:
  // The client has sent its request, and nothing else. By the server's thread.
  virtual void OnRequest(ReceivedMessage request) = 0;

  const std::shared_ptr<ServedCall> call_;

 private:
  void OnMessage(ReceivedMessage message) final {
    if (++num_messages_ > 1) return call_->Finish(InvalidArgument("the call has two requests"));
    request_ = std::move(message);
    call_->AskForMessage();
  }
  void OnLastMessage() final {
    if (num_messages_ == 1) return OnRequest(std::move(request_));
    if (num_messages_ == 0) call_->Finish(InvalidArgument("the call has ended without a request"));
  }

  ReceivedMessage request_;
  int num_messages_ = 0;
};

}  // namespace carillon
