// Layouts of tiles and columns.
#include "apps/fft2d/transposition.hpp"

namespace coracle::fft2d {
namespace {

constexpr std::int64_t kElement = sizeof(Complex);

std::int64_t as_signed(std::size_t value) {
  return static_cast<std::int64_t>(value);
}

}  // namespace

Transposition::Transposition(Team& team, std::size_t rows, std::size_t columns)
    : team_(team), rows_{rows, team.size()}, columns_{columns, team.size()} {
  const Layout element = Layout::of<Complex>();
  const std::int64_t own_rows = as_signed(rows_.count(team.index()));
  const std::int64_t own_columns = as_signed(columns_.count(team.index()));
  for (std::uint32_t member = 0; member < team.size(); ++member) {
    const std::int64_t width = as_signed(columns_.count(member));
    tiles_.push_back(element.vector(own_rows, width, as_signed(columns)).resized(0, width * kElement));
  }
  column_ = element.vector(own_columns, 1, as_signed(rows)).resized(0, kElement);
}

Task<> Transposition::run(const Complex* mine, Complex* transposed) const {
  if (rows_.even() && columns_.even()) {
    co_await team_.all_to_all({mine, tiles_[0]}, {transposed, column_, rows_.count(0)});
    co_return;
  }
  std::vector<ScatteredSource> sources;
  std::vector<ScatteredTarget> targets;
  for (std::uint32_t member = 0; member < team_.size(); ++member) {
    sources.push_back({mine + columns_.first(member), tiles_[member]});
    targets.push_back({transposed + rows_.first(member), column_, rows_.count(member)});
  }
  co_await team_.all_to_all_w(sources, targets);
}

}  // namespace coracle::fft2d
