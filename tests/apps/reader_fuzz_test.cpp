// Whatever the bytes, a reader makes a graph or says what is wrong: thousands of mutations of valid texts.
#include <doctest/doctest.h>

#include <cstdlib>
#include <ostream>
#include <string>

#include "apps/asp/random_graph.hpp"
#include "runtime/error.hpp"
#include "tests/apps/reader_seeds.hpp"

namespace coracle::asp {

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

}  // namespace

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

}  // namespace coracle::asp
