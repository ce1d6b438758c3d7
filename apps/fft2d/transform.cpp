// Rows, transposition, columns.
#include "apps/fft2d/transform.hpp"

namespace coracle::fft2d {

Transform::Transform(Team& team, std::size_t rows, std::size_t columns, Ways ways)
    : team_(team),
      rows_{rows, team.size()},
      columns_{columns, team.size()},
      grid_(rows_.count(team.index()) * columns * sizeof(Complex)),
      transposed_(columns_.count(team.index()) * rows * sizeof(Complex)),
      rows_forward_(Plan::of_rows(grid(), rows_.count(team.index()), columns, Direction::forward)),
      rows_backward_(
          Plan::of_rows(grid(), ways == Ways::both ? rows_.count(team.index()) : 0, columns, Direction::backward)),
      columns_forward_(Plan::of_rows(transposed(), columns_.count(team.index()), rows, Direction::forward)),
      columns_backward_(Plan::of_rows(transposed(), ways == Ways::both ? columns_.count(team.index()) : 0, rows,
                                      Direction::backward)),
      there_(team, rows, columns),
      back_(team, columns, rows) {}

Task<> Transform::forward() {
  rows_forward_.run();
  co_await transpose(there_, grid(), transposed());
  columns_forward_.run();
}

Task<> Transform::backward() {
  columns_backward_.run();
  co_await transpose(back_, transposed(), grid());
  rows_backward_.run();
}

Task<> Transform::transpose_back() {
  return transpose(back_, transposed(), grid());
}

Task<> Transform::transpose(const Transposition& transposition, const Complex* from, Complex* to) {
  EventLoop& loop = team_.rank().loop();
  const std::uint64_t begin_ns = loop.exact_now_ns();
  co_await transposition.run(from, to);
  transposing_s_ += static_cast<double>(loop.exact_now_ns() - begin_ns) * 1e-9;
}

}  // namespace coracle::fft2d
