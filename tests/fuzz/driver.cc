// Runs a target without libFuzzer: every file of the corpus as it is, then mutations of them from a
// generator with a fixed seed, so that a run can be repeated.
//
//   TARGET [--runs N] [--seed S] [--crash_file FILE] CORPUS_DIR_OR_FILE…
//
// The input being tried is in the crash file, if one is named, while the target runs.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "fuzz_target.h"

namespace {

using Bytes = std::string;
constexpr size_t kLongest = 1 << 16;

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed) {}

  Bytes Mutate(const std::vector<Bytes>& corpus) {
    Bytes bytes = corpus.empty() ? Bytes() : corpus[Below(corpus.size())];
    for (size_t i = 1 + Below(6); i > 0; --i) Change(&bytes, corpus);
    if (bytes.size() > kLongest) bytes.resize(kLongest);
    return bytes;
  }

 private:
  size_t Below(size_t n) { return n == 0 ? 0 : static_cast<size_t>(random_() % n); }

  void Change(Bytes* bytes, const std::vector<Bytes>& corpus) {
    if (bytes->empty()) {
      bytes->push_back(static_cast<char>(random_()));
      return;
    }
    const size_t at = Below(bytes->size());
    switch (Below(9)) {
      case 0:
        (*bytes)[at] = static_cast<char>((*bytes)[at] ^ (1 << Below(8)));
        break;
      case 1:
        (*bytes)[at] = static_cast<char>(random_());
        break;
      case 2: {  // a size that is at the edge of something, little-endian or as a varint
        static constexpr uint64_t kEdges[] = {
            0,          1,          0x7f,       0x80,       0xff,       0x7fff,     0xffff,
            0x7fffffff, 0x80000000, 0xffffffff, 1ull << 60, ~0ull >> 1, 1ull << 63, ~0ull};
        uint64_t value = kEdges[Below(std::size(kEdges))];
        Bytes encoded;
        if (Below(2) == 0) {
          encoded.assign(reinterpret_cast<const char*>(&value), size_t{1} << Below(4));
        } else {
          for (; value >= 0x80; value >>= 7) encoded.push_back(static_cast<char>(value | 0x80));
          encoded.push_back(static_cast<char>(value));
        }
        bytes->replace(at, Below(2) == 0 ? encoded.size() : 1, encoded);
        break;
      }
      case 3:
        bytes->erase(at, 1 + Below(8));
        break;
      case 4:
        bytes->insert(at, 1 + Below(8), static_cast<char>(random_()));
        break;
      case 5:
        bytes->resize(at);
        break;
      case 6: {  // a piece of its own, once more
        const Bytes piece = bytes->substr(Below(bytes->size()), 1 + Below(64));
        bytes->insert(at, piece);
        break;
      }
      case 7: {  // the end of another
        const Bytes& other = corpus[Below(corpus.size())];
        if (!other.empty()) bytes->replace(at, Bytes::npos, other.substr(Below(other.size())));
        break;
      }
      case 8:  // a neighbour of a number
        (*bytes)[at] = static_cast<char>((*bytes)[at] + (Below(2) == 0 ? 1 : -1));
        break;
    }
  }

  std::mt19937_64 random_;
};

Bytes ReadAll(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

int main(int argc, char** argv) {
  long runs = 1000;
  uint64_t seed = 1;
  std::string crash_file;
  std::vector<std::filesystem::path> files;
  for (int i = 1; i < argc; ++i) {
    const bool more = i + 1 < argc;
    if (std::strcmp(argv[i], "--runs") == 0 && more) {
      runs = std::atol(argv[++i]);
    } else if (std::strcmp(argv[i], "--seed") == 0 && more) {
      seed = std::strtoull(argv[++i], nullptr, 10);
    } else if (std::strcmp(argv[i], "--crash_file") == 0 && more) {
      crash_file = argv[++i];
    } else if (std::filesystem::is_directory(argv[i])) {
      for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[i]))
        if (entry.is_regular_file()) files.push_back(entry.path());
    } else {
      files.emplace_back(argv[i]);
    }
  }
  std::sort(files.begin(), files.end());
  std::vector<Bytes> corpus;
  for (const auto& file : files) corpus.push_back(ReadAll(file));
  const size_t whole = corpus.size();
  if (corpus.empty()) corpus.emplace_back();
  const auto run = [&](const Bytes& bytes) {
    if (!crash_file.empty()) std::ofstream(crash_file, std::ios::binary) << bytes;
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  };
  run({});
  for (const Bytes& bytes : corpus) run(bytes);
  Mutator mutator(seed);
  for (long i = 0; i < runs; ++i) run(mutator.Mutate(corpus));
  if (!crash_file.empty()) std::filesystem::remove(crash_file);
  std::cout << whole << " files, " << runs << " mutations, seed " << seed << "\n";
}
