// Pictures in the PNM formats: grey (PGM) and colour (PPM), plain or binary, 8 or 16 bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::fft2d {

struct Picture {
  std::size_t width = 0;
  std::size_t height = 0;
  std::size_t channels = 1;            ///< 1: grey; 3: red, green, blue.
  std::uint32_t white = 255;           ///< The largest sample, at most 65535.
  std::vector<std::uint16_t> samples;  ///< Row by row from the top, of each pixel one per channel.
};

/// Of a side.
inline constexpr std::size_t kPixelsMax = 32768;

/// Parses `bytes`; `name` stands for the file in messages. Whatever is wrong throws Error(Errc::bad_input), which says
/// what, where and how to mend it; memory is taken for what the bytes hold, never for what they declare.
Picture parse_pnm(const std::string& name, std::string_view bytes);

/// Loads and parses a file.
Picture read_pnm(const std::string& path);

/// The picture as a binary PGM or PPM.
std::string to_pnm(const Picture& picture);

/// Throws Error with the system's reason.
void write_pnm(const std::string& path, const Picture& picture);

}  // namespace coracle::fft2d
