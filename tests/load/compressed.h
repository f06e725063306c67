// Texts as files of gzip and zstd, for tests of readers.
#pragma once

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include <memory>
#include <string>
#include <string_view>

namespace palimpsest::load::test {

inline std::string gzip(std::string_view text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string from(text);
  std::string into(text.size() + 1000, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(from.data());
  stream.avail_in = static_cast<uInt>(from.size());
  stream.next_out = reinterpret_cast<Bytef*>(into.data());
  stream.avail_out = static_cast<uInt>(into.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  into.resize(stream.total_out);
  deflateEnd(&stream);
  return into;
}

/// With a checksum, as the zstd program writes it.
inline std::string zstd(std::string_view text) {
  const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(),
                                                                     ZSTD_freeCCtx);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  std::string into(ZSTD_compressBound(text.size()), '\0');
  into.resize(ZSTD_compress2(context.get(), into.data(), into.size(), text.data(), text.size()));
  return into;
}

}  // namespace palimpsest::load::test
