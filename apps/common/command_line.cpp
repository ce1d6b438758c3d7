// Speaks for all ranks.
#include "apps/common/command_line.hpp"

#include <fmt/format.h>
#include <coracle/coracle.hpp>

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>

#include "apps/common/units.hpp"

namespace coracle {
namespace {

/// Rank 0 does not come: this ends when it is gone, or with the job.
Task<> wait_for_first(Rank& self) {
  static_cast<void>(co_await as_result(self.world().barrier()));
}

}  // namespace

std::optional<int> parse_command_line(CLI::App& app, int argc, char** argv) {
  constexpr int kUsage = 2;
  make_strict(app);
  try {
    app.parse(words_for(app, argc, argv));
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    const bool speaks = rank_from_environment() == 0;
    if (error.get_exit_code() != 0) {
      if (speaks)
        fmt::print(stderr, "{}: {} (`{} --help` explains)\n", app.get_name(), explain(app, error), app.get_name());
      return kUsage;
    }
    std::ostringstream help;
    app.exit(error, help);
    if (speaks) fmt::print(stdout, "{}", help.str());
    return 0;
  }
}

int leave(int argc, char** argv, int status) {
  if (status == 0 || rank_from_environment() == 0) return status;
  run(argc, argv, wait_for_first);
  return status;  // the same for all: who sees that rank 0 is gone may end before the launcher knows of that
}

CLI::Validator byte_size(std::uint64_t low, std::uint64_t high) {
  return {[low, high](std::string& text) {
            const std::optional<std::uint64_t> bytes = internals::parse_bytes(text);
            if (bytes && *bytes >= low && *bytes <= high) return std::string();
            return fmt::format("{} is no size from {} to {} bytes, such as 64K, 1.5M or 1G", text, low, high);
          },
          ""};
}

CLI::Validator page_size() {
  return {[](std::string& text) {
            const std::optional<std::uint64_t> bytes = internals::parse_bytes(text);
            if (bytes && std::has_single_bit(*bytes) && *bytes >= 4096 && *bytes <= 4 << 20) return std::string();
            return fmt::format("{} is no power of two from 4K to 4M", text);
          },
          ""};
}

CLI::Validator any_count() {
  return whole_number(0, std::size_t{1} << 53);
}

CLI::Validator positive_number(double high) {
  return {[high](std::string& text) {
            char* end = nullptr;
            const double value = std::strtod(text.c_str(), &end);
            const bool is_number = !text.empty() && end == text.c_str() + text.size();
            if (is_number && value > 0 && value <= high) return std::string();
            return fmt::format("{} is no number above 0 and up to {:g}", text, high);
          },
          ""};
}

CLI::Option* add_size(CLI::App& app, const std::string& name, std::uint64_t& bytes, const std::string& by_default,
                      const std::string& help, const CLI::Validator& check) {
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): checked before, or it throws
  const auto take = [&bytes](const std::string& size) { bytes = internals::parse_bytes(size).value(); };
  if (!by_default.empty()) take(by_default);
  return app.add_option_function<std::string>(name, take, help)
      ->type_name("SIZE")
      ->check(check)
      ->default_str(by_default);
}

}  // namespace coracle
