// How gRPC writes what goes with a call into the headers of HTTP/2.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "distributed/serving/served_call.h"

namespace carillon {

// "100m" is a tenth of a second. Nothing: malformed.
std::optional<std::chrono::nanoseconds> ReadTimeout(std::string_view text);

// As the header of that name holds it. Nothing: malformed.
std::optional<std::string> ReadMetadataValue(std::string_view key, std::string_view text);
std::string WriteMetadataValue(std::string_view key, std::string_view value);

// The text of a status: printable, and not longer than clients take.
std::string WriteStatusMessage(std::string_view message);

// What strangers may have a say in, for a line of the log: printable, and not long.
std::string WriteForLog(std::string_view text);

}  // namespace carillon
