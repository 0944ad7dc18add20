// The `carillon` tool: one table of commands, each with a file of its own.
#include <cstdio>
#include <iostream>

#include "cli/command.h"
#include "report/terminal.h"

namespace {

using carillon::Command;

constexpr Command kCommands[] = {
    {"certs", "makes tokens and certificates for the tasks of a cluster", carillon::RunCerts},
    {"data", "lists, checks, previews and exports data sets", carillon::RunData},
    {"launch", "starts a cluster on this machine, around any program", carillon::RunLaunch},
    {"server", "runs steps for TensorFlow's clients and ours", carillon::RunServer},
    {"tfrun", "runs a TensorFlow 1.x script on Carillon servers", carillon::RunTfrun},
};

constexpr char kIntroduction[] =
    "Carillon: distributed deep-learning training in C++, compatible with TensorFlow.";

}  // namespace

int main(int argc, char** argv) {
  const carillon::TextStyle style = carillon::TextStyle::Of(stdout);
  const carillon::ColorDepth colors = !style.color               ? carillon::ColorDepth::kNone
                                      : carillon::HasTrueColor() ? carillon::ColorDepth::kTrue
                                                                 : carillon::ColorDepth::k256;
  carillon::Console console{std::cout, std::cerr, style, colors};
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  return carillon::RunOneOf(kCommands, "carillon", kIntroduction, "", arguments, console);
}
