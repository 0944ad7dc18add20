// carillon tfrun: a TensorFlow 1.x script on Carillon servers.
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <unistd.h>

#include "base/env.h"
#include "base/strings.h"
#include "base/throw.h"
#include "cli/command.h"

namespace carillon {
namespace {

constexpr char kSummary[] =
    "Runs a script that was written for TensorFlow 1.x, as it is, on Carillon servers.\n\n"
    "`import tensorflow` gives the script TensorFlow's 1.x interface, with names that TensorFlow "
    "has dropped since (tf.layers, parts of tf.contrib, the MNIST tutorial's input_data). "
    "tf.train.Server starts a Carillon server, which ends with the script; sessions on it run on "
    "Carillon's kernels, and ops that ask for a GPU run on the CPU. When the workers' scripts have "
    "ended, those that wait in join() end too.\n\n"
    "TensorFlow comes from the Python that $CARILLON_PYTHON names, else from python3. Flags for "
    "tfrun stand before SCRIPT; all that follows it is the script's.";

struct Settings {
  bool local_sessions = false;
  bool insecure = false;
  bool tensorflow_servers = false;
  std::string server_flags;
};

// The folder of the bridge: beside the tool's own folder, built and installed alike.
std::string BridgeFolder(const std::string& tool) {
  return JoinPath(Dirname(Dirname(tool)), "share/carillon/python");
}

std::string ThisProgram() {
  std::error_code error;
  const std::string path = std::filesystem::read_symlink("/proc/self/exe", error).string();
  if (error) Throw(NotFound("/proc/self/exe: ", error.message(), "; it tells where Carillon is"));
  return path;
}

// How many arguments come before the script: tfrun's own flags, with values only behind "=".
size_t NumOwn(const std::vector<std::string>& arguments) {
  size_t count = 0;
  while (count < arguments.size() && arguments[count].starts_with("-")) {
    if (arguments[count++] == "--") break;
  }
  return count;
}

void Export(const char* name, const std::string& value) { setenv(name, value.c_str(), 1); }

// Replaces this process by Python: what becomes of it, and the signals it gets, are the script's.
[[noreturn]] void BecomePython(const Settings& settings,
                               const std::vector<std::string>& script_and_arguments) {
  const std::string tool = ThisProgram();
  const std::string bridge = JoinPath(BridgeFolder(tool), "tfrun.py");
  if (!PosixEnv().Exists(bridge)) {
    Throw(NotFound(bridge, " is missing: it belongs to ", tool,
                   " and comes with it; build or install Carillon again"));
  }
  Export("CARILLON_TOOL", tool);
  Export("CARILLON_LOCAL_SESSIONS", settings.local_sessions ? "1" : "");
  Export("CARILLON_TENSORFLOW_SERVERS", settings.tensorflow_servers ? "1" : "");
  Export("CARILLON_SERVER_FLAGS",
         StrCat(settings.insecure ? "--insecure " : "", settings.server_flags));

  const char* chosen = std::getenv("CARILLON_PYTHON");
  const std::string python = chosen == nullptr || *chosen == '\0' ? "python3" : chosen;
  std::vector<std::string> words{python, bridge};
  words.insert(words.end(), script_and_arguments.begin(), script_and_arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  Throw(NotFound(python, " cannot be run: ", std::strerror(errno),
                 "; set CARILLON_PYTHON to a Python that has TensorFlow"));
}

}  // namespace

int RunTfrun(const std::vector<std::string>& arguments, Console& console) {
  Settings settings;
  std::vector<std::string> script;
  Flags flags("carillon tfrun", kSummary);
  flags.Positional("SCRIPT ARGS…", &script, "the script, and what it gets as its arguments");
  flags.Group("Servers");
  flags.Add("local_sessions", &settings.local_sessions,
            "sessions without a target, as in tf.Session(), run on a Carillon server of their own "
            "too, not inside of the script's process");
  flags.Add("insecure", &settings.insecure,
            "let the script's server listen on addresses that other machines reach");
  flags.Add(
      "server_flags", &settings.server_flags,
      "more flags for each server that the script starts, as in --server_flags='--threads 2'; "
      "see `carillon server --help`");
  flags.Add("tensorflow_servers", &settings.tensorflow_servers,
            "leave tf.train.Server as it is: the same script on TensorFlow's own servers, to "
            "compare");
  flags.Example(
      "carillon tfrun train.py --ps_hosts=127.0.0.1:2222 --worker_hosts=127.0.0.1:2223 "
      "--job_name=ps --task_index=0",
      "one task of a cluster, started as the script has always been");
  flags.Example("carillon tfrun --local-sessions train.py", "a script that knows of no cluster");
  const auto split = arguments.begin() + static_cast<ptrdiff_t>(NumOwn(arguments));
  if (!ParseFlags(flags, {arguments.begin(), split}, console)) return 0;
  script.assign(split, arguments.end());
  if (script.empty())
    Throw(InvalidArgument("expected a script, as in `carillon tfrun train.py --job_name=ps`"));
  if (!PosixEnv().Exists(script[0]))
    Throw(NotFound(script[0], ": there is no such script; flags for tfrun stand before it"));
  console.out.flush();
  BecomePython(settings, script);
}

}  // namespace carillon
