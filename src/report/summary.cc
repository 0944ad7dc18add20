#include "base/strings.h"
#include "carillon/report.h"

namespace carillon {

RunSummary RunSummary::Of(const Progress& progress) {
  RunSummary summary;
  summary.steps = progress.steps();
  summary.seconds = progress.seconds();
  summary.steps_per_second = progress.steps_per_second();
  summary.examples_per_second = progress.examples_per_second();
  summary.peak_rss_mb = PeakRssMb();
  return summary;
}

std::string RunSummary::ToText(const TextStyle& style) const {
  Table table(title);
  table.Row({"test accuracy", FormatPercent(accuracy)});
  table.Row({"training loss", FormatNumber(loss)});
  table.Row({"steps", StrCat(FormatCount(steps), interrupted ? " (interrupted)" : "")});
  table.Row({"time", seconds < 60 ? StrCat(FormatNumber(seconds), " s") : FormatDuration(seconds)});
  table.Row({"speed", StrCat(FormatNumber(steps_per_second), " steps/s")});
  table.Row({"", StrCat(FormatNumber(examples_per_second), " examples/s")});
  table.Row({"peak memory", StrCat(FormatNumber(peak_rss_mb), " MB")});
  return table.ToText(style);
}

JsonObject RunSummary::ToJson() const {
  JsonObject json;
  json.Add("steps", steps)
      .Add("seconds", seconds)
      .Add("steps_per_second", steps_per_second)
      .Add("examples_per_second", examples_per_second)
      .Add("loss", loss)
      .Add("accuracy", accuracy)
      .Add("peak_rss_mb", peak_rss_mb);
  return json;
}

}  // namespace carillon
