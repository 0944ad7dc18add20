// The files that graph_eval reads and writes: records of parts. tests/conformance/harness/engine.py
// says what is in them.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

namespace carillon {

using Parts = std::vector<std::string>;

class RecordReader {
 public:
  explicit RecordReader(const std::string& path) : file_(path, std::ios::binary) {}
  bool ok() const { return file_.is_open(); }

  // False at the end, and where a record is cut short.
  bool Read(Parts* parts) {
    uint32_t count = 0;
    if (!ReadNumber(&count)) return false;
    parts->clear();
    for (uint32_t i = 0; i < count; ++i) {
      uint64_t size = 0;
      if (!ReadNumber(&size)) return false;
      std::string part(size, '\0');
      if (!file_.read(part.data(), static_cast<std::streamsize>(size))) return false;
      parts->push_back(std::move(part));
    }
    return true;
  }

 private:
  template <typename T>
  bool ReadNumber(T* number) {
    return static_cast<bool>(file_.read(reinterpret_cast<char*>(number), sizeof *number));
  }
  std::ifstream file_;
};

class RecordWriter {
 public:
  explicit RecordWriter(const std::string& path) : file_(path, std::ios::binary) {}
  bool ok() const { return file_.is_open(); }

  // Reaches the file before it returns: a later crash loses nothing.
  void Write(const Parts& parts) {
    WriteNumber(static_cast<uint32_t>(parts.size()));
    for (const std::string& part : parts) {
      WriteNumber(static_cast<uint64_t>(part.size()));
      file_.write(part.data(), static_cast<std::streamsize>(part.size()));
    }
    file_.flush();
  }

 private:
  template <typename T>
  void WriteNumber(T number) {
    file_.write(reinterpret_cast<const char*>(&number), sizeof number);
  }
  std::ofstream file_;
};

}  // namespace carillon
