#include <charconv>
#include <cmath>
#include <cstdio>

#include "base/strings.h"
#include "carillon/report.h"

namespace carillon {
namespace {

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\r':
        out += "\\r";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          char escape[8];
          std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
          out += escape;
        } else {
          out += c;
        }
    }
  }
  return out + "\"";
}

// The shortest digits that read back as the same double.
std::string Number(double value) {
  if (!std::isfinite(value)) return "null";
  char text[32];
  const auto result = std::to_chars(text, text + sizeof text, value);
  return std::string(text, result.ptr);
}

template <typename T, typename ToJson>
std::string Array(const std::vector<T>& values, ToJson to_json) {
  std::string out = "[";
  for (const T& value : values) StrAppend(&out, out.size() > 1 ? ", " : "", to_json(value));
  return out + "]";
}

}  // namespace

JsonObject& JsonObject::AddRaw(std::string_view name, std::string_view json) {
  StrAppend(&members_, members_.empty() ? "" : ", ", Quoted(name), ": ", json);
  return *this;
}

JsonObject& JsonObject::Add(std::string_view name, bool value) {
  return AddRaw(name, value ? "true" : "false");
}
JsonObject& JsonObject::Add(std::string_view name, double value) {
  return AddRaw(name, Number(value));
}
JsonObject& JsonObject::Add(std::string_view name, std::string_view value) {
  return AddRaw(name, Quoted(value));
}
JsonObject& JsonObject::Add(std::string_view name, const char* value) {
  return AddRaw(name, Quoted(value));
}
JsonObject& JsonObject::Add(std::string_view name, const std::string& value) {
  return AddRaw(name, Quoted(value));
}
JsonObject& JsonObject::Add(std::string_view name, const JsonObject& value) {
  return AddRaw(name, value.ToString());
}
JsonObject& JsonObject::Add(std::string_view name, const std::vector<double>& values) {
  return AddRaw(name, Array(values, Number));
}
JsonObject& JsonObject::Add(std::string_view name, const std::vector<std::string>& values) {
  return AddRaw(name, Array(values, [](const std::string& value) { return Quoted(value); }));
}
JsonObject& JsonObject::Add(std::string_view name, const std::vector<JsonObject>& values) {
  return AddRaw(name, Array(values, [](const JsonObject& value) { return value.ToString(); }));
}

}  // namespace carillon
