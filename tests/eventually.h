// Waiting in tests for what happens on threads that nobody joins.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

namespace carillon {

// Whether `holds` comes true before a time that no healthy machine needs.
inline bool Eventually(const std::function<bool()>& holds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

}  // namespace carillon
