#include "base/team.h"

#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>
#include <linux/futex.h>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <sys/syscall.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <vector>

#include "base/denormals.h"
#include "base/work_scope.h"

namespace carillon {
namespace {

using Word = std::atomic<uint32_t>;
static_assert(sizeof(Word) == sizeof(uint32_t));

// How long a thread looks before it sleeps. Waking one takes some tens of microseconds.
constexpr std::chrono::microseconds kSpinTime{60};

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// May return early; never returns late: the kernel compares before it sleeps.
void Sleep(Word* word, uint32_t while_value) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(word), FUTEX_WAIT_PRIVATE, while_value, nullptr);
}

void Wake(Word* word, int threads) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(word), FUTEX_WAKE_PRIVATE, threads);
}

// Whether `*word` became something else than `value` while we looked.
bool SpinWhile(const Word& word, uint32_t value) {
  constexpr int kLooks = 64;
  const auto end = std::chrono::steady_clock::now() + kSpinTime;
  do {
    for (int i = 0; i < kLooks; ++i) {
      if (word.load(std::memory_order_acquire) != value) return true;
      Pause();
    }
  } while (std::chrono::steady_clock::now() < end);
  return word.load(std::memory_order_acquire) != value;
}

// One thing that one thread waits for and another announces. Invariant: kSleeping only while the
// waiter sleeps or is about to, and then the announcer wakes it.
class Signal {
 public:
  void Announce() {
    if (state_.exchange(kThere, std::memory_order_acq_rel) == kSleeping) Wake(&state_, 1);
  }
  void Await() {
    if (!SpinWhile(state_, kNotYet)) {
      uint32_t expected = kNotYet;
      state_.compare_exchange_strong(expected, kSleeping, std::memory_order_acq_rel);
      while (state_.load(std::memory_order_acquire) != kThere) Sleep(&state_, kSleeping);
    }
    state_.store(kNotYet, std::memory_order_relaxed);
  }

 private:
  static constexpr uint32_t kNotYet = 0, kThere = 1, kSleeping = 2;
  Word state_{kNotYet};
};

// A loop that runs. Lives on the stack of the thread that began it, which leaves last.
struct Team {
  Team(int threads, const Team* outer, absl::FunctionRef<void(int)> work)
      : size(outer == nullptr ? threads : 1),
        parallel(size > 1 || (outer != nullptr && outer->parallel)),
        body(work),
        running(size - 1) {}

  const int size;
  const bool parallel;  // this team, or one around it, has more than one thread
  const absl::FunctionRef<void(int)> body;
  const CancelFlag* const cancel = CurrentCancelFlag();
  std::atomic<int> running;  // threads besides the first that have not returned
  Signal all_returned;

  // The barrier: the last to arrive starts the next round.
  std::atomic<int> arrived{0};
  Word round{0};
  std::atomic<int> sleepers{0};
};

thread_local Team* current_team = nullptr;
thread_local int current_thread = 0;

// A thread that waits for work, does it, and waits again, as long as the process lives.
struct Worker {
  Signal has_work;
  Team* team = nullptr;  // written before has_work is announced
  int thread = 0;

  void Loop() {
    for (;;) {
      has_work.Await();
      Team* const mine = team;
      current_team = mine;
      current_thread = thread;
      SetCurrentCancelFlag(mine->cancel);
      mine->body(thread);
      current_team = nullptr;
      // After this the team may be gone.
      if (mine->running.fetch_sub(1, std::memory_order_acq_rel) == 1) mine->all_returned.Announce();
    }
  }
};

// Idle workers, the one that worked last on top: it may still be looking. One for the process, as
// the functions of OpenMP have nothing else to go by; never destroyed, since its threads never end.
class Pool {
 public:
  static Pool& OfProcess() {
    static Pool* const pool = new Pool;
    return *pool;
  }

  // Waits where the machine has no thread left until it has, or others are done.
  void Start(Team* team) {
    std::unique_lock lock(mutex_);
    while (static_cast<int>(idle_.size()) < team->size - 1) {
      try {
        idle_.push_back(MakeWorker());
      } catch (const std::system_error&) {
        lock.unlock();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        lock.lock();
      }
    }
    for (int thread = 1; thread < team->size; ++thread) {
      Worker* worker = idle_.back();
      idle_.pop_back();
      worker->team = team;
      worker->thread = thread;
      worker->has_work.Announce();
      at_work_.push_back(worker);
    }
  }

  // The workers of a team that has returned are idle.
  void Return(const Team* team) {
    std::lock_guard lock(mutex_);
    for (size_t i = at_work_.size(); i-- > 0;) {
      if (at_work_[i]->team != team) continue;
      at_work_[i]->team = nullptr;
      idle_.push_back(at_work_[i]);
      at_work_[i] = at_work_.back();
      at_work_.pop_back();
    }
  }

 private:
  Pool() {
    // The threads of a process stay behind when it forks.
    pthread_atfork(nullptr, nullptr, [] {
      Pool& pool = OfProcess();
      new (&pool.mutex_) std::mutex;
      pool.idle_.clear();
      pool.at_work_.clear();
    });
  }

  static Worker* MakeWorker() {
    auto worker = std::make_unique<Worker>();
    std::thread([worker = worker.get()] {
      const FlushDenormals flush;
      worker->Loop();
    }).detach();
    return worker.release();
  }

  std::mutex mutex_;
  std::vector<Worker*> idle_;
  std::vector<Worker*> at_work_;
};

}  // namespace

void RunTeam(int threads, absl::FunctionRef<void(int)> body) {
  Team* const outer_team = current_team;
  const int outer_thread = current_thread;
  const WorkPause pause;  // nothing may throw while others work
  Team team(threads, outer_team, body);
  current_team = &team;
  current_thread = 0;
  if (team.size > 1) Pool::OfProcess().Start(&team);
  body(0);
  current_team = outer_team;
  current_thread = outer_thread;
  if (team.size == 1) return;
  team.all_returned.Await();
  Pool::OfProcess().Return(&team);
}

int TeamSize() { return current_team == nullptr ? 1 : current_team->size; }
int TeamThread() { return current_team == nullptr ? 0 : current_thread; }
bool InTeam() { return current_team != nullptr; }
bool InParallel() { return current_team != nullptr && current_team->parallel; }

void TeamBarrier() {
  Team* const team = current_team;
  if (team == nullptr || team->size == 1) return;
  const uint32_t round = team->round.load(std::memory_order_acquire);
  if (team->arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == team->size) {
    team->arrived.store(0, std::memory_order_relaxed);
    team->round.fetch_add(1, std::memory_order_acq_rel);
    if (team->sleepers.load() > 0) Wake(&team->round, INT_MAX);
    return;
  }
  if (SpinWhile(team->round, round)) return;
  team->sleepers.fetch_add(1);
  while (team->round.load(std::memory_order_acquire) == round) Sleep(&team->round, round);
  team->sleepers.fetch_sub(1);
}

}  // namespace carillon
