// carillon certs: tokens and certificates for the tasks of a cluster.
#include "base/certificates.h"
#include "base/throw.h"
#include "carillon/cluster.h"
#include "cli/command.h"
#include "distributed/cluster/certificate_folder.h"

namespace carillon {
namespace {

constexpr char kSummary[] =
    "Makes what the tasks and clients of a cluster know each other by.\n\n"
    "A token is a secret in a file: whoever has it belongs to the job. Nothing is encrypted by it. "
    "Certificates do both: an authority of the cluster's own signs one for every task, which says "
    "which task it is for, and one for clients; all connections are encrypted, and each end checks "
    "the other's. Use one of the two, or both.\n\n"
    "Copy to each machine what its tasks need: the token file; or ca.pem and the .pem and .key of "
    "the task (client.pem and client.key where clients run). Then name them with --token_file and "
    "--tls_dir of carillon server, or for all programs with the variables CARILLON_TOKEN_FILE and "
    "CARILLON_TLS_DIR. Keys and tokens are made readable by nobody but you, and others are "
    "refused. "
    "ca.key is needed by no task: with it anybody can make certificates that hold, so keep it "
    "away, "
    "or delete it.";

}  // namespace

int RunCerts(const std::vector<std::string>& arguments, Console& console) {
  CertificateFolderOptions options;
  std::string cluster, token;
  Flags flags("carillon certs", kSummary);
  flags.Group("Certificates");
  flags.Add("out", &options.folder, "the folder that they are written to");
  flags.Add("cluster", &cluster,
            "all tasks, as JOB|HOST:PORT;HOST:PORT,JOB|HOST:PORT or as JSON; the certificate of "
            "each carries its host, so that clients find it is the one they asked for");
  flags.Add("hosts", &options.hosts,
            "further names and addresses under which clients reach the tasks");
  flags.Add("days", &options.days, "how long they hold", {.min = 1, .max = 36500});
  flags.Group("A token");
  flags.Add("token", &token, "write a new token to this file");
  flags.Group("Both");
  flags.Add("force", &options.force, "replace files that are there");
  flags.Example("carillon certs --token job.token", "a token of 256 bits");
  flags.Example("carillon certs --out certs --cluster 'ps|10.0.0.1:2222,worker|10.0.0.2:2222'",
                "ca, ps-0, worker-0 and client, each .pem and .key");
  if (!ParseFlags(flags, arguments, console)) return 0;
  options.cluster = ClusterSpec::FromFlag(cluster);
  if (options.folder.empty() && token.empty())
    Throw(
        InvalidArgument("say what to make: certificates, with --out DIR --cluster …, or a token, "
                        "with --token FILE"));
  if (options.folder.empty() != options.cluster.empty())
    Throw(InvalidArgument("certificates need both --out and --cluster"));

  if (!token.empty()) {
    ThrowIfError(WriteSecret(token, StrCat(ValueOrThrow(MakeToken()), "\n"), options.force));
    console.out << token << ": a new token\n";
  }
  if (!options.folder.empty()) {
    for (const std::string& name : ValueOrThrow(MakeCertificateFolder(options)))
      console.out << options.folder << "/" << name << "\n";
  }
  return 0;
}

}  // namespace carillon
