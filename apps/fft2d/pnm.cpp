// A header of words and comments, then samples as digits or as bytes.
#include "apps/fft2d/pnm.hpp"

#include <fmt/format.h>

#include <algorithm>

#include <coracle/error.hpp>
#include "apps/common/file.hpp"

namespace coracle::fft2d {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

class Reader {
 public:
  Reader(std::string name, std::string_view bytes) : name_(std::move(name)), bytes_(bytes) {}

  /// "file, byte 12: problem; remedy".
  [[noreturn]] void fail(std::string_view problem, std::string_view remedy) const {
    throw Error(Errc::bad_input, fmt::format("{}, byte {}: {}; {}", name_, place_, problem, remedy));
  }
  std::string_view rest() const noexcept { return bytes_.substr(place_); }
  void skip(std::size_t bytes) noexcept { place_ += bytes; }

  /// Over blanks and comments, which begin with # and go to the end of the line.
  void skip_blanks() noexcept {
    while (place_ < bytes_.size() && (is_blank(bytes_[place_]) || bytes_[place_] == '#')) {
      if (bytes_[place_] == '#')
        place_ = std::min(bytes_.find('\n', place_), bytes_.size());
      else
        ++place_;
    }
  }
  /// The next number, in digits.
  std::uint32_t number(std::string_view field, std::uint32_t low, std::uint32_t high) {
    skip_blanks();
    if (place_ == bytes_.size()) fail(fmt::format("the file ends before its {}", field), "get the whole file again");
    const std::size_t begin = place_;
    std::uint64_t value = 0;
    for (; place_ < bytes_.size() && is_digit(bytes_[place_]) && value <= high; ++place_)
      value = 10 * value + static_cast<std::uint64_t>(bytes_[place_] - '0');
    const bool ended = place_ == bytes_.size() || is_blank(bytes_[place_]) || bytes_[place_] == '#';
    if (place_ > begin && ended && value >= low && value <= high) return static_cast<std::uint32_t>(value);
    place_ = begin;
    fail(fmt::format("the {} is no whole number from {} to {}", field, low, high),
         "write it with digits, or save the picture anew");
  }

 private:
  std::string name_;
  std::string_view bytes_;
  std::size_t place_ = 0;
};

struct Format {
  bool plain;
  std::size_t channels;
};

Format read_format(Reader& reader) {
  const std::string_view magic = reader.rest().substr(0, 2);
  if (magic == "P1" || magic == "P4")
    reader.fail("the picture is a bitmap of black and white", "make a PGM of it: pbmtopgm 1 1 IN > OUT");
  if (magic != "P2" && magic != "P3" && magic != "P5" && magic != "P6")
    reader.fail("the picture begins with none of P2, P3, P5, P6",
                "give a PGM or PPM; tools such as pngtopnm or ImageMagick's convert make them");
  reader.skip(2);
  return {magic == "P2" || magic == "P3", magic == "P2" || magic == "P5" ? std::size_t{1} : std::size_t{3}};
}

void read_plain(Reader& reader, std::size_t count, Picture& picture) {
  // At least a digit and a blank each, but for the last.
  if (reader.rest().size() + 1 < 2 * count)
    reader.fail(fmt::format("{} bytes are left for {} samples", reader.rest().size(), count),
                "get the whole file again, or correct width and height");
  picture.samples.reserve(count);
  for (std::size_t i = 0; i < count; ++i)
    picture.samples.push_back(static_cast<std::uint16_t>(reader.number("sample", 0, picture.white)));
  reader.skip_blanks();
}

void read_binary(Reader& reader, std::size_t count, Picture& picture) {
  if (reader.rest().empty() || !is_blank(reader.rest().front()))
    reader.fail("the header does not end with one blank", "save the picture anew");
  reader.skip(1);
  const std::size_t bytes_each = picture.white < 256 ? 1 : 2;
  const std::string_view data = reader.rest();
  if (data.size() < count * bytes_each)
    reader.fail(fmt::format("{} bytes are left for {} samples of {} bytes", data.size(), count, bytes_each),
                "get the whole file again, or correct width and height");
  picture.samples.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto byte = [&](std::size_t at) { return static_cast<std::uint8_t>(data[at]); };
    const unsigned sample = bytes_each == 1 ? byte(i) : byte(2 * i) * 256U + byte(2 * i + 1);
    if (sample > picture.white) {
      reader.skip(i * bytes_each);
      reader.fail(fmt::format("a sample is {}, above the largest, {}", sample, picture.white),
                  "correct the largest value in the header");
    }
    picture.samples.push_back(static_cast<std::uint16_t>(sample));
  }
  reader.skip(count * bytes_each);
  while (!reader.rest().empty() && is_blank(reader.rest().front())) reader.skip(1);
}

}  // namespace

Picture parse_pnm(const std::string& name, std::string_view bytes) {
  Reader reader(name, bytes);
  const Format format = read_format(reader);
  Picture picture;
  picture.channels = format.channels;
  picture.width = reader.number("width", 1, kPixelsMax);
  picture.height = reader.number("height", 1, kPixelsMax);
  picture.white = reader.number("largest value", 1, 65535);
  const std::size_t count = picture.width * picture.height * picture.channels;
  if (format.plain)
    read_plain(reader, count, picture);
  else
    read_binary(reader, count, picture);
  if (!reader.rest().empty())
    reader.fail(fmt::format("{} bytes follow the picture", reader.rest().size()),
                "give one picture a file, or correct width and height");
  return picture;
}

Picture read_pnm(const std::string& path) {
  const std::string bytes = read_whole(path, 8, "a readable PGM or PPM", "cut the picture");
  if (bytes.empty()) throw Error(Errc::bad_input, path + ": the file is empty; give a PGM or PPM");
  return parse_pnm(path, bytes);
}

std::string to_pnm(const Picture& picture) {
  std::string bytes =
      fmt::format("P{}\n{} {}\n{}\n", picture.channels == 1 ? 5 : 6, picture.width, picture.height, picture.white);
  for (const std::uint16_t sample : picture.samples) {
    if (picture.white > 255) bytes.push_back(static_cast<char>(sample >> 8U));
    bytes.push_back(static_cast<char>(sample & 255U));
  }
  return bytes;
}

void write_pnm(const std::string& path, const Picture& picture) {
  write_whole(to_pnm(picture), path);
}

}  // namespace coracle::fft2d
