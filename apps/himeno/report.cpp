// Lines and JSON.
#include "apps/himeno/report.hpp"

#include <fmt/format.h>

#include <iterator>
#include <nlohmann/json.hpp>

namespace coracle::himeno {
namespace {

constexpr double kPentium3Mflops = 82.84;  // at 600 MHz
constexpr double kArraysMoved = 14;        // that a step reads or writes

double inner_points(const Triple& size) {
  return static_cast<double>(product(inner(size)));
}

nlohmann::json to_object(const Report& report, const Measured& what) {
  return {
      {"iterations", what.iterations}, {"seconds", what.seconds}, {"gosa", what.gosa}, {"mflops", report.mflops(what)}};
}

}  // namespace

double Report::mflops(const Measured& what) const {
  if (what.seconds <= 0) return 0;
  return kFlopsPerPoint * inner_points(size) / 1e6 * static_cast<double>(what.iterations) / what.seconds;
}

double Report::limit_mflops() const {
  return mflops({1, memory_s, 0});
}

double Report::limit_bytes_per_s() const {
  return memory_s > 0 ? kArraysMoved * sizeof(float) * inner_points(size) / memory_s : 0;
}

std::string beginning_text(const Report& report) {
  const Triple& size = report.size;
  std::string text = fmt::format(" mimax = {} mjmax = {} mkmax = {}\n", size[0] + 1, size[1] + 1, size[2] + 1);
  text += fmt::format(" imax = {} jmax = {} kmax = {}\n", size[0], size[1], size[2]);
  text += fmt::format(" I-decomp = {} J-decomp = {} K-decomp = {}, placement {}, kernel {}\n", report.ranks[0],
                      report.ranks[1], report.ranks[2], report.placement, report.kernel);
  text += fmt::format(" Start rehearsal measurement process.\n Measure the performance in {} times.\n\n",
                      report.rehearsal.iterations);
  return text;
}

std::string rehearsal_text(const Report& report) {
  return fmt::format(" MFLOPS: {:f} time(s): {:f} {:e}\n\n", report.mflops(report.rehearsal), report.rehearsal.seconds,
                     report.rehearsal.gosa);
}

std::string plan_text(std::size_t iterations, double seconds) {
  std::string text =
      fmt::format(" Now, start the actual measurement process.\n The loop will be executed in {} times\n", iterations);
  text += fmt::format(" This will take about {:.1f} seconds.\n Wait for a while\n\n", seconds);
  return text;
}

std::string result_text(const Report& report) {
  const double mflops = report.mflops(report.measured);
  std::string text =
      fmt::format(" Loop executed for {} times\n Gosa : {:e}\n", report.measured.iterations, report.measured.gosa);
  text += fmt::format(" MFLOPS measured : {:f}\ttime(s) : {:f}\n", mflops, report.measured.seconds);
  text += fmt::format(" Score based on Pentium III 600MHz : {:f}\n", mflops / kPentium3Mflops);
  if (report.memory_s > 0)
    text += fmt::format(" Limit of the memory : {:f} MFLOPS ({:.2f} GB/s through the same arrays); reached {:.0f} %\n",
                        report.limit_mflops(), report.limit_bytes_per_s() * 1e-9, 100 * mflops / report.limit_mflops());
  if (report.verified) text += " Verified : all residuals and the pressure as in a serial run, bit for bit\n";
  return text;
}

std::string to_json(const Report& report) {
  nlohmann::json object = {
      {"size", report.size},
      {"ranks_grid", report.ranks},
      {"ranks", product(report.ranks)},
      {"nodes", report.nodes},
      {"placement", report.placement},
      {"kernel", report.kernel},
      {"rehearsal", to_object(report, report.rehearsal)},
      {"measured", to_object(report, report.measured)},
      {"score", report.mflops(report.measured) / kPentium3Mflops},
      {"verified", report.verified},
  };
  if (!report.size_name.empty()) object["size_name"] = report.size_name;
  if (report.memory_s > 0)
    object["limit"] = {{"mflops", report.limit_mflops()}, {"bytes_per_s", report.limit_bytes_per_s()}};
  return object.dump(2) + "\n";
}

std::string history_text(const std::vector<ExactSum>& sums) {
  std::string text;
  for (std::size_t n = 0; n < sums.size(); ++n)
    fmt::format_to(std::back_inserter(text), "{} {:.16e}\n", n + 1, sums[n].value());
  return text;
}

}  // namespace coracle::himeno
