// A small valid text of each format: read by the tests, mutated by the fuzz test.
#pragma once

#include <string_view>

#include "apps/asp/readers.hpp"

namespace coracle::asp::test {

struct ReaderSeed {
  GraphFormat format;
  std::string_view name;
  std::string_view text;
};

inline constexpr ReaderSeed kReaderSeeds[] = {
    {GraphFormat::dimacs, "diamond.gr",
     "c a diamond\n"
     "p sp 4 5\n"
     "a 1 2 1\n"
     "a 2 4 5\n"
     "a 1 3 2.5\n"
     "a 3 4 2\n"
     "a 1 4 9\n"},
    {GraphFormat::matrix_market, "real.mtx",
     "%%MatrixMarket matrix coordinate real general\n"
     "% made by hand\n"
     "3 3 3\n"
     "1 2 0.5\n"
     "2 3 1e2\n"
     "3 3 4\n"},
    {GraphFormat::matrix_market, "pattern.mtx",
     "%%MatrixMarket matrix coordinate pattern symmetric\n"
     "3 3 2\n"
     "2 1\n"
     "3 2\n"},
    {GraphFormat::edge_list, "roads.txt",
     "# from to km\n"
     "Ulm Augsburg 80\n"
     "Augsburg München 76.5\n"
     "% back\n"
     "München Ulm\n"},
    {GraphFormat::dpkg, "status",
     "Package: app\n"
     "Status: install ok installed\n"
     "Architecture: amd64\n"
     "Depends: libc6:any (>= 2.36), mail-agent | nothing, missing\n"
     "Pre-Depends: dpkg (>= 1.15.6~)\n"
     "Description: an app\n"
     " that does things: many\n"
     "\n"
     "Package: libc6\n"
     "Status: install ok installed\n"
     "Depends: libgcc-s1\n"
     "\n"
     "Package: libgcc-s1\n"
     "Status: hold ok installed\n"
     "Depends: libc6 (>= 2.35)\n"
     "\n"
     "Package: gone\n"
     "Status: deinstall ok config-files\n"
     "Depends: libc6\n"
     "\n"
     "Package: postfix\n"
     "Status: install ok installed\n"
     "Provides: mail-agent (= 3), postfix-api\n"
     "\n"
     "Package: dpkg\n"
     "Status: install ok installed\n"
     "\n"},
};

}  // namespace coracle::asp::test
