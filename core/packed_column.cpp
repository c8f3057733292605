#include "core/packed_column.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "core/types.h"

namespace faultline {

namespace {

static_assert(std::endian::native == std::endian::little, "packed columns are little endian and copied as they are");

enum Encoding : std::uint8_t { dense = 0, sparse = 1, delta = 2 };

struct Header {
    std::uint8_t encoding;
    std::uint8_t width;
    std::uint16_t count;
    std::int64_t base;
};
constexpr std::size_t kHeaderBytes = 12;

/// Differences are taken modulo 2^64, so that any two values have one.
std::uint64_t distance(std::int64_t value, std::int64_t base) noexcept {
    return static_cast<std::uint64_t>(value) - static_cast<std::uint64_t>(base);
}

std::int64_t advance(std::int64_t base, std::uint64_t by) noexcept {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(base) + by);
}

std::uint8_t width_for(std::uint64_t largest) noexcept {
    if (largest == 0) return 0;
    if (largest <= 0xff) return 1;
    if (largest <= 0xffff) return 2;
    if (largest <= 0xffffffff) return 4;
    return 8;
}

void put_header(std::vector<std::byte>& out, const Header& h) {
    const std::size_t at = out.size();
    out.resize(at + kHeaderBytes);
    std::memcpy(&out[at], &h.encoding, 1);
    std::memcpy(&out[at + 1], &h.width, 1);
    std::memcpy(&out[at + 2], &h.count, 2);
    std::memcpy(&out[at + 4], &h.base, 8);
}

bool get_header(std::span<const std::byte> packed, Header& h) noexcept {
    if (packed.size() < kHeaderBytes) return false;
    std::memcpy(&h.encoding, packed.data(), 1);
    std::memcpy(&h.width, packed.data() + 1, 1);
    std::memcpy(&h.count, packed.data() + 2, 2);
    std::memcpy(&h.base, packed.data() + 4, 8);
    const bool width_ok = h.width == 0 || h.width == 1 || h.width == 2 || h.width == 4 || h.width == 8;
    return width_ok && h.encoding <= delta && h.count != 0 && h.count <= kChunkSpans;
}

template <class T, class Each>
void put_as(std::byte* to, std::size_t n, Each each) {
    for (std::size_t i = 0; i < n; ++i) {
        const T v = static_cast<T>(each(i));
        std::memcpy(to + i * sizeof(T), &v, sizeof(T));
    }
}

template <class Each>
void put_values(std::vector<std::byte>& out, std::uint8_t width, std::size_t n, Each each) {
    const std::size_t at = out.size();
    out.resize(at + n * width);
    std::byte* to = out.data() + at;
    switch (width) {
        case 1: put_as<std::uint8_t>(to, n, each); break;
        case 2: put_as<std::uint16_t>(to, n, each); break;
        case 4: put_as<std::uint32_t>(to, n, each); break;
        case 8: put_as<std::uint64_t>(to, n, each); break;
        default: break;
    }
}

template <class T, class Each>
void take_as(const std::byte* from, std::size_t n, Each each) {
    for (std::size_t i = 0; i < n; ++i) {
        T v;
        std::memcpy(&v, from + i * sizeof(T), sizeof(T));
        each(i, static_cast<std::uint64_t>(v));
    }
}

template <class Each>
void take_values(const std::byte* from, std::uint8_t width, std::size_t n, Each each) {
    switch (width) {
        case 0:
            for (std::size_t i = 0; i < n; ++i) each(i, std::uint64_t{0});
            break;
        case 1: take_as<std::uint8_t>(from, n, each); break;
        case 2: take_as<std::uint16_t>(from, n, each); break;
        case 4: take_as<std::uint32_t>(from, n, each); break;
        default: take_as<std::uint64_t>(from, n, each); break;
    }
}

struct Shape {
    std::size_t present = 0;
    std::int64_t low = 0;
    std::int64_t high = 0;
    std::int64_t low_delta = 0;  ///< smallest step from one value to the next, as signed 64 bits
    std::int64_t high_delta = 0;
};

Shape shape_of(std::span<const std::int64_t> values) {
    Shape s;
    std::int64_t before = 0;
    for (const std::int64_t v : values) {
        if (v == kNull) continue;
        if (s.present == 0) {
            s.low = s.high = v;
        } else {
            s.low = std::min(s.low, v);
            s.high = std::max(s.high, v);
            const std::int64_t d = static_cast<std::int64_t>(distance(v, before));
            if (s.present == 1) {
                s.low_delta = s.high_delta = d;
            } else {
                s.low_delta = std::min(s.low_delta, d);
                s.high_delta = std::max(s.high_delta, d);
            }
        }
        before = v;
        ++s.present;
    }
    return s;
}

void pack_delta(std::span<const std::int64_t> values, const Shape& s, std::uint8_t width, std::vector<std::byte>& out) {
    put_header(out, {delta, width, static_cast<std::uint16_t>(values.size()), s.low_delta});
    const std::size_t at = out.size();
    out.resize(at + 8);
    std::memcpy(&out[at], &values[0], 8);
    put_values(out, width, values.size() - 1,
               [&](std::size_t i) { return distance(static_cast<std::int64_t>(distance(values[i + 1], values[i])), s.low_delta); });
}

void pack_sparse(std::span<const std::int64_t> values, const Shape& s, std::uint8_t width, std::vector<std::byte>& out) {
    put_header(out, {sparse, width, static_cast<std::uint16_t>(values.size()), s.low});
    const std::size_t at = out.size();
    out.resize(at + (values.size() + 7) / 8);
    std::vector<std::int64_t> kept;
    kept.reserve(s.present);
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (values[i] == kNull) continue;
        out[at + i / 8] |= std::byte{1} << (i % 8);
        kept.push_back(values[i]);
    }
    put_values(out, width, kept.size(), [&](std::size_t i) { return distance(kept[i], s.low); });
}

}  // namespace

bool pack_column(std::span<const std::int64_t> values, std::vector<std::byte>& out) {
    const Shape s = shape_of(values);
    if (s.present == 0) return false;
    const std::uint8_t width = width_for(distance(s.high, s.low));
    if (s.present != values.size()) {
        pack_sparse(values, s, width, out);
        return true;
    }
    const std::uint8_t delta_width = width_for(distance(s.high_delta, s.low_delta));
    if (values.size() > 1 && delta_width * (values.size() - 1) + 8 < width * values.size()) {
        pack_delta(values, s, delta_width, out);
        return true;
    }
    put_header(out, {dense, width, static_cast<std::uint16_t>(values.size()), s.low});
    put_values(out, width, values.size(), [&](std::size_t i) { return distance(values[i], s.low); });
    return true;
}

std::size_t packed_count(std::span<const std::byte> packed) noexcept {
    Header h{};
    return get_header(packed, h) ? h.count : 0;
}

bool unpack_column(std::span<const std::byte> packed, std::span<std::int64_t> out) noexcept {
    Header h{};
    if (!get_header(packed, h) || out.size() != h.count) return false;
    const std::byte* body = packed.data() + kHeaderBytes;
    const std::size_t bytes = packed.size() - kHeaderBytes;
    if (h.encoding == dense) {
        if (bytes != std::size_t{h.count} * h.width) return false;
        take_values(body, h.width, h.count, [&](std::size_t i, std::uint64_t v) { out[i] = advance(h.base, v); });
        return true;
    }
    if (h.encoding == delta) {
        if (bytes != 8 + (std::size_t{h.count} - 1) * h.width) return false;
        std::memcpy(out.data(), body, 8);
        std::int64_t before = out[0];
        take_values(body + 8, h.width, std::size_t{h.count} - 1, [&](std::size_t i, std::uint64_t v) {
            before = advance(before, static_cast<std::uint64_t>(advance(h.base, v)));
            out[i + 1] = before;
        });
        return true;
    }
    const std::size_t bitmap = (std::size_t{h.count} + 7) / 8;
    if (bytes < bitmap) return false;
    std::size_t present = 0;
    for (std::size_t i = 0; i < bitmap; ++i) present += static_cast<std::size_t>(std::popcount(static_cast<unsigned char>(body[i])));
    if (bytes != bitmap + present * h.width) return false;
    std::array<std::int64_t, kChunkSpans> kept;
    take_values(body + bitmap, h.width, present, [&](std::size_t i, std::uint64_t v) { kept[i] = advance(h.base, v); });
    std::size_t next = 0;
    for (std::size_t i = 0; i < h.count; ++i) {
        const bool set = (body[i / 8] & (std::byte{1} << (i % 8))) != std::byte{0};
        out[i] = set ? kept[next++] : kNull;
    }
    return true;
}

}  // namespace faultline
