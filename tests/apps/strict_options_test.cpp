// Every option of every application with an empty value, with none, and twice; every flag twice; and mpirun's -np.
#include "apps/common/strict_parsing.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "apps/asp/user_interface.hpp"
#include "apps/bfs/user_interface.hpp"
#include "apps/fft2d/user_interface.hpp"
#include "apps/himeno/benchmark.hpp"
#include "apps/oocsort/user_interface.hpp"
#include "tests/apps/parse_words.hpp"

namespace coracle::internals::strict_options_test {
namespace {

using Words = std::vector<std::string>;

Words with(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

struct Program {
  std::string name;
  std::function<int(Words)> status_of;  ///< -1: it would run.
  struct Option {
    std::string name;
    std::string value;  ///< A good one.
    Words beside;       ///< What it needs.
  };
  std::vector<Option> options;
  std::vector<Words> flags;  ///< Each with what it needs behind it.
};

template <class Options>
std::function<int(Words)> status_by(std::variant<Options, int> (*parse)(int, char**)) {
  return [parse](Words words) { return apps_test::status_of_words(parse, std::move(words)); };
}

std::vector<Program> programs() {
  const Words random{"--random", "9"};
  const Words kronecker{"--kronecker", "4"};
  const Words sorting{"in", "out"};
  return {{"asp",
           status_by(asp::parse_options),
           {{"--random", "9", {}},
            {"--format", "gr", {"file"}},
            {"--degree", "2", random},
            {"--seed", "0", random},
            {"--verify", "1", random},
            {"--block", "16", random},
            {"--top", "1", random},
            {"--json", "file", random},
            {"--broadcast", "ring", random},
            {"--arrivals", "file", random}},
           {{"--dpkg"}, {"--undirected", "file"}, {"--progress", "file"}}},
          {"bfs",
           status_by(bfs::parse_options),
           {{"--kronecker", "4", {}},
            {"--wordnet", "folder", {}},
            {"--format", "gr", {"file"}},
            {"--edge-factor", "3", kronecker},
            {"--seed", "3", kronecker},
            {"--root", "3", kronecker},
            {"--roots", "3", kronecker},
            {"--cache", "1M", kronecker},
            {"--page", "4K", kronecker},
            {"--memory", "1M", kronecker},
            {"--scratch", "folder", kronecker},
            {"--json", "file", kronecker}},
           {{"--directed", "file"}, {"--verify", "file"}, {"--quiet", "file"}}},
          {"fft2d",
           status_by(fft2d::parse_options),
           {{"--size", "9x8", {}},
            {"--repeat", "3", {}},
            {"--seed", "3", {}},
            {"--json", "file", {}},
            {"--image", "file", {"--out", "file"}},
            {"--out", "file", {"--image", "file"}},
            {"--cutoff", "0.5", {"--image", "file", "--out", "file"}}},
           {{"--verify"}}},
          {"himeno",
           status_by(himeno::parse_options),
           {{"--size", "XS", {}},
            {"--ranks-grid", "1x1x1", {}},
            {"--device", "cpu", {}},
            {"--time", "3", {}},
            {"--iterations", "3", {}},
            {"--history", "file", {}},
            {"--json", "file", {}},
            {"--sim-mflops", "100", {}}},
           {{"--no-limit"}, {"--verify"}, {"--progress"}}},
          {"oocsort",
           status_by(oocsort::parse_options),
           {{"--generate", "3", {"file"}},
            {"--seed", "3", {"--generate", "3", "file"}},
            {"--record", "20", sorting},
            {"--key", "4", sorting},
            {"--order", "bytes", sorting},
            {"--memory", "1M", sorting},
            {"--page", "4K", sorting},
            {"--scratch", "folder", sorting},
            {"--json", "file", sorting}},
           {{"--verify", "in", "out"}, {"--force", "in", "out"}, {"--quiet", "in", "out"}}}};
}

/// As `coracle` is made, but smaller.
struct Launcher {
  CLI::App app{"a launcher", "launch"};
  std::string ranks;
  std::string shell;
  bool talks = false;

  Launcher() {
    app.require_subcommand(1);
    CLI::App* run = app.add_subcommand("run");
    run->add_option("-n,--ranks", ranks);
    run->add_option("--ssh", shell);
    run->add_flag("-v,--verbose", talks);
    run->prefix_command();
    make_strict(app);
  }

  Words words(const std::vector<const char*>& given) const {
    Words read = words_for(app, static_cast<int>(given.size()), given.data());
    return {read.rbegin(), read.rend()};
  }
  std::string complaint(const std::vector<const char*>& given) {
    try {
      app.parse(words_for(app, static_cast<int>(given.size()), given.data()));
    } catch (const CLI::ParseError& error) {
      return explain(app, error);
    }
    return "";
  }
};

}  // namespace

TEST_CASE("command lines: no application takes an option empty, without its value, or twice, or a flag twice") {
  for (const Program& program : programs()) {
    for (const Program::Option& option : program.options) {
      CAPTURE(program.name);
      CAPTURE(option.name);
      const Words once = with(option.beside, {option.name, option.value});
      CHECK(program.status_of(once) == -1);
      CHECK(program.status_of(with(option.beside, {option.name + "=" + option.value})) == -1);
      CHECK(program.status_of(with(option.beside, {option.name, ""})) == 2);
      CHECK(program.status_of(with({option.name + "="}, with(option.beside, {option.value}))) == 2);
      CHECK(program.status_of(with(option.beside, {option.name})) == 2);
      CHECK(program.status_of(with(once, {option.name, option.value})) == 2);
    }
    for (const Words& flag : program.flags) {
      CAPTURE(program.name);
      CAPTURE(flag.front());
      CHECK(program.status_of(flag) == -1);
      CHECK(program.status_of(with({flag.front()}, flag)) == 2);
    }
    CHECK(program.status_of({""}) == 2);
  }
}

TEST_CASE("command lines: options that would have no effect are refused") {
  const auto asp = status_by(asp::parse_options);
  CHECK(asp({"--random", "9", "--format", "gr"}) == 2);
  CHECK(asp({"--dpkg", "--format", "gr"}) == 2);
  CHECK(asp({"file", "--degree", "3"}) == 2);
  CHECK(asp({"--random", "9", "--degree", "10"}) == 2);
  CHECK(status_by(bfs::parse_options)({"--wordnet", "folder", "--format", "gr"}) == 2);
  CHECK(status_by(fft2d::parse_options)({"--image", "in", "--out", "out", "--seed", "3"}) == 2);
  const auto oocsort = status_by(oocsort::parse_options);
  CHECK(oocsort({"--generate", "3", "file", "--verify"}) == 2);
  CHECK(oocsort({"--generate", "3", "file", "--page", "4K"}) == 2);
  CHECK(oocsort({"--generate", "3", "file", "--scratch", "."}) == 2);
}

TEST_CASE("command lines: mpirun's -np is -n, but not behind the program and not as a value") {
  const Launcher launcher;
  CHECK(launcher.words({"launch", "run", "-np", "2", "app"}) == Words{"run", "-n", "2", "app"});
  CHECK(launcher.words({"launch", "run", "-v", "--np", "2", "app", "-np", "3"}) ==
        Words{"run", "-v", "-n", "2", "app", "-np", "3"});
  CHECK(launcher.words({"launch", "run", "--ssh", "-np", "-np", "2", "app"}) ==
        Words{"run", "--ssh", "-np", "-n", "2", "app"});
  CHECK(launcher.words({"launch", "run", "--ssh=a", "app", "--ssh="}) == Words{"run", "--ssh=a", "app", "--ssh="});
  CHECK(launcher.words({"launch", "run", "--", "-np"}) == Words{"run", "--", "-np"});
  CHECK(launcher.words({"launch", "run", "-np"}) == Words{"run", "-n"});
  for (const char* const joined : {"-np2", "-np=2", "--np=2"}) {
    CHECK(launcher.words({"launch", "run", joined, "app", "-np3"}) == Words{"run", "-n", "2", "app", "-np3"});
    CHECK(launcher.words({"launch", joined, "run"}) == Words{joined, "run"});
  }
  CHECK(launcher.words({"launch"}).empty());
}

TEST_CASE("command lines: a complaint names the option and says what to write") {
  CHECK(Launcher().complaint({"launch", "run", "-np", "2", "app"}).empty());
  CHECK(Launcher().complaint({"launch", "run", "-n", "2", "-n", "3", "app"}) ==
        "--ranks: is given 2 times; give it once");
  CHECK(Launcher().complaint({"launch", "run", "--np=2", "-np3", "app"}) == "--ranks: is given 2 times; give it once");
  CHECK(Launcher().complaint({"launch", "run", "-v", "--verbose", "app"}) ==
        "--verbose: is given 2 times; give it once");
  CHECK(Launcher().complaint({"launch", "run", "-vv", "app"}) == "--verbose: is given 2 times; give it once");
  CHECK(Launcher().complaint({"launch", "run", "-n"}) == "--ranks: its value is missing; write one behind it");
  CHECK(Launcher().complaint({"launch", "run", "--ssh", "", "app"}) ==
        "--ssh: the value is empty: write one, or leave the option out");
  CHECK(Launcher().complaint({"launch", "run", "--ssh=", "app"}) ==
        "--ssh: the value behind = is missing: write one, or leave --ssh out");
  CHECK(Launcher().complaint({"launch", "run", "--np=", "app"}) ==
        "--np: the value behind = is missing: write one, or leave --np out");
}

}  // namespace coracle::internals::strict_options_test
