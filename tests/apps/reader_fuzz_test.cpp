// Whatever the bytes, a reader makes a graph or says what is wrong: thousands of mutations of valid texts.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ostream>
#include <string>
#include <unordered_map>
#include <vector>

#include "apps/asp/graph.hpp"
#include "apps/bfs/readers.hpp"
#include "runtime/core/error.hpp"
#include "tests/apps/reader_seeds.hpp"

namespace coracle::asp::reader_fuzz_test {

using namespace internals;

namespace {

constexpr std::uint64_t kRounds = 4000;

// Pieces that parsers stumble over.
constexpr std::string_view kTokens[] = {"-1",
                                        "nan",
                                        "inf",
                                        "1e999",
                                        "1e-999",
                                        "99999999999999999999",
                                        "4294967296",
                                        "0",
                                        " ",
                                        "\n",
                                        "\r\n",
                                        "\n\n",
                                        "%",
                                        "#",
                                        "p sp 1048576 1099511627776\n",
                                        ":",
                                        "|",
                                        ",",
                                        "1048576 1048576 1099511627776\n",
                                        "(",
                                        "-0",
                                        "0x10",
                                        "\xff\xfe",
                                        "+",
                                        "a ",
                                        "e"};

void mutate_once(std::string& text, SplitMix64& random) {
  const std::size_t place = random.below(text.size() + 1);
  switch (random.below(7)) {
    case 0:
      text.resize(place);
      break;
    case 1:
      text.insert(place, kTokens[random.below(std::size(kTokens))]);
      break;
    case 2:
      text.insert(place, 1, static_cast<char>(random.below(256)));
      break;
    case 3:
      text.erase(place, 1 + random.below(20));
      break;
    case 4:
      if (place < text.size()) text[place] = static_cast<char>(random.below(256));
      break;
    case 5:
      text.insert(place, text.substr(random.below(text.size() + 1), random.below(40)));
      break;
    default: {
      const std::string_view token = kTokens[random.below(std::size(kTokens))];
      text.replace(place, std::min(text.size() - place, random.below(6)), token);
    }
  }
}

// True when the reader behaves; a wrong kind of exception is reported with what it says.
bool reads_or_complains(const test::ReaderSeed& seed, const std::string& text) {
  try {
    const Graph graph = parse_graph(std::string(seed.name), text, seed.format);
    return graph.vertices() >= 1 && graph.vertices() <= kVerticesMax && graph.arc_list().size() == graph.arcs();
  } catch (const Error& error) {
    const std::string_view what = error.what();
    return error.code() == Errc::bad_input && what.starts_with(seed.name) && what.find("; ") != what.npos;
  } catch (const std::exception& error) {
    MESSAGE("unexpected exception: ", error.what());
    return false;
  }
}

constexpr std::string_view kSynsets =
    "  1 licence\n"
    "00000010 03 n 02 dog 0 domestic_dog 0 002 @ 00000030 n 0000 + 00000020 a 0101 | gloss 1 2 3\n"
    "00000020 00 s 01 doggish 0 001 \\ 00000010 n 0000 | gloss\n"
    "00000030 03 n 01 animal 0 000 | gloss\n";
constexpr std::string_view kEdges = "# comment\na b\nb c 2.5\r\n\n% another\nlonger-name a\nc c\n";

constexpr std::string_view kRoads = "c Shortest Paths\np sp 9 3\na 3 1 2.5\nc\na 1 3 -2\r\na 9 9 1\n";
constexpr std::string_view kMatrix = "%%MatrixMarket matrix coordinate real symmetric\n% text\n4 4 2\n4 2 -1\n3 3 7\n";

/// What is read, or the complaint.
std::string read_edges(bfs::TextFormat format, std::string_view text, SplitMix64 random) {
  std::string found;
  bfs::Names names;
  const auto reader = bfs::make_reader(format, "edges", names, bfs::Direction::as_written, [&found](bfs::Edge edge) {
    found += fmt::format("{} {}\n", edge.from, edge.to);
  });
  try {
    while (!text.empty()) {
      const std::size_t piece = std::min<std::size_t>(text.size(), 1 + random.below(20));
      reader->feed(text.substr(0, piece));
      text.remove_prefix(piece);
    }
    reader->finish();
  } catch (const Error& error) {
    return error.code() == Errc::bad_input ? error.what() : "";
  }
  return found;
}

bool reads_synsets_or_complains(std::string_view text) {
  std::unordered_map<std::uint64_t, bfs::Vertex> synsets;
  std::vector<std::string> names;
  bool good = true;
  try {
    bfs::read_wordnet("data", text, synsets, names,
                      [&](bfs::Edge edge) { good = good && edge.from < names.size() && edge.to < names.size(); });
  } catch (const Error& error) {
    return error.code() == Errc::bad_input && std::string_view(error.what()).starts_with("data:");
  }
  return good && names.size() == synsets.size();
}

}  // namespace

TEST_CASE("readers: mutated graphs and synsets are read or refused and pieces make no difference") {
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    CAPTURE(round);
    SplitMix64 random(round);
    using Written = std::pair<bfs::TextFormat, std::string>;
    std::vector<Written> graphs{{bfs::TextFormat::edge_list, std::string(kEdges)},
                                {bfs::TextFormat::dimacs, std::string(kRoads)},
                                {bfs::TextFormat::matrix_market, std::string(kMatrix)}};
    std::string synsets(kSynsets);
    for (std::uint64_t i = 0, count = 1 + random.below(6); i < count; ++i) {
      for (auto& [format, text] : graphs) mutate_once(text, random);
      mutate_once(synsets, random);
    }
    for (const auto& [format, text] : graphs) {
      const std::string found = read_edges(format, text, SplitMix64(round));
      CHECK(!found.empty());
      CHECK(found == read_edges(format, text, SplitMix64(round + 1)));
    }
    CHECK(reads_synsets_or_complains(synsets));
  }
}

TEST_CASE("readers: thousands of mutated texts of every format never crash them") {
  for (const test::ReaderSeed& seed : test::kReaderSeeds) {
    for (std::uint64_t round = 1; round <= kRounds; ++round) {
      SplitMix64 random(round);
      std::string text(seed.text);
      for (std::uint64_t i = 0, count = 1 + random.below(6); i < count; ++i) mutate_once(text, random);
      if (reads_or_complains(seed, text)) continue;
      FAIL_CHECK("seed " << round << " of " << seed.name << ":\n" << text);
    }
  }
}

TEST_CASE("readers: random bytes never crash them") {
  for (const test::ReaderSeed& seed : test::kReaderSeeds) {
    for (std::uint64_t round = 1; round <= 200; ++round) {
      SplitMix64 random(round);
      std::string text(1 + random.below(3000), '\0');
      for (char& c : text) c = static_cast<char>(random.below(256));
      if (!reads_or_complains(seed, text)) FAIL_CHECK("seed " << round << " of " << seed.name);
    }
  }
}

TEST_CASE("readers: every prefix of a valid text is read or refused") {
  for (const test::ReaderSeed& seed : test::kReaderSeeds) {
    for (std::size_t size = 0; size < seed.text.size(); ++size) {
      if (!reads_or_complains(seed, std::string(seed.text.substr(0, size))))
        FAIL_CHECK(seed.name << " to byte " << size);
    }
  }
}

}  // namespace coracle::asp::reader_fuzz_test
