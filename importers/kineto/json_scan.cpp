#include "importers/kineto/json_scan.h"

#include <bit>
#include <cstring>

#if defined(__SSSE3__) && defined(__PCLMUL__)
#include <immintrin.h>
#define FAULTLINE_SCAN_SIMD 1
#endif

namespace faultline::kineto {

namespace {

/// One byte at a time: the tail of a buffer, and machines without the instructions below. Returns true at the end of the value.
template <bool kBrackets>
bool scan_byte(ScanState& s, char c) noexcept {
    if (static_cast<unsigned char>(c) < 0x20) s.flagged |= s.in_string != 0 || !is_json_space(c);
    // A backslash escapes the next byte wherever it stands; that matters for quotes only.
    const bool escaped = s.escaped != 0;
    s.escaped = c == '\\' && !escaped ? 1 : 0;
    if (c == '"' && !escaped) s.in_string = ~s.in_string;
    if (s.in_string != 0) return false;
    if (c == '{' || (kBrackets && c == '[')) ++s.depth;
    if (c == '}' || (kBrackets && c == ']')) return --s.depth <= 0;
    return false;
}

#ifdef FAULTLINE_SCAN_SIMD

struct BlockMasks {
    std::uint64_t quotes, backslashes, opens, closes, suspicious, spaces;
};

std::uint64_t join(__m128i a, __m128i b, __m128i c, __m128i d) noexcept {
    const auto bits = [](__m128i v) { return static_cast<std::uint64_t>(static_cast<std::uint32_t>(_mm_movemask_epi8(v))); };
    return bits(a) | bits(b) << 16 | bits(c) << 32 | bits(d) << 48;
}

template <bool kBrackets>
BlockMasks classify(const char* p) noexcept {
    __m128i v[4];
    for (int i = 0; i < 4; ++i) v[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + i * 16));
    const auto equal = [&](char c) {
        const __m128i want = _mm_set1_epi8(c);
        return join(_mm_cmpeq_epi8(v[0], want), _mm_cmpeq_epi8(v[1], want), _mm_cmpeq_epi8(v[2], want), _mm_cmpeq_epi8(v[3], want));
    };
    // With bit 5 set, '[' becomes '{' and ']' becomes '}'.
    const auto equal_folded = [&](char c) {
        const __m128i want = _mm_set1_epi8(c), fold = _mm_set1_epi8(0x20);
        const auto one = [&](__m128i x) { return _mm_cmpeq_epi8(_mm_or_si128(x, fold), want); };
        return join(one(v[0]), one(v[1]), one(v[2]), one(v[3]));
    };
    const auto control = [&] {
        const __m128i most = _mm_set1_epi8(0x1f);
        const auto one = [&](__m128i x) { return _mm_cmpeq_epi8(_mm_min_epu8(x, most), x); };
        return join(one(v[0]), one(v[1]), one(v[2]), one(v[3]));
    };
    // A byte is white space where the entry of its low four bits is the byte itself (tab, newline, carriage return).
    const auto line_space = [&] {
        const __m128i table = _mm_setr_epi8(-1, -1, -1, -1, -1, -1, -1, -1, -1, 9, 10, -1, -1, 13, -1, -1);
        const auto one = [&](__m128i x) { return _mm_cmpeq_epi8(_mm_shuffle_epi8(table, x), x); };
        return join(one(v[0]), one(v[1]), one(v[2]), one(v[3]));
    };
    BlockMasks m;
    m.quotes = equal('"');
    m.backslashes = equal('\\');
    m.opens = kBrackets ? equal_folded('{') : equal('{');
    m.closes = kBrackets ? equal_folded('}') : equal('}');
    m.suspicious = control();
    m.spaces = m.suspicious != 0 ? line_space() : 0;
    return m;
}

/// The bytes that a backslash escapes; runs of backslashes pair up.
std::uint64_t escaped_bytes(ScanState& s, std::uint64_t backslashes) noexcept {
    if (backslashes == 0) {
        const std::uint64_t escaped = s.escaped;
        s.escaped = 0;
        return escaped;
    }
    constexpr std::uint64_t kEven = 0x5555555555555555ULL;
    backslashes &= ~s.escaped;
    const std::uint64_t follows = backslashes << 1 | s.escaped;
    const std::uint64_t odd_starts = backslashes & ~kEven & ~follows;
    unsigned long long sequences = 0;
    s.escaped =
        __builtin_add_overflow(static_cast<unsigned long long>(odd_starts), static_cast<unsigned long long>(backslashes), &sequences) ? 1
                                                                                                                                      : 0;
    return (kEven ^ (static_cast<std::uint64_t>(sequences) << 1)) & follows;
}

/// Bit i is the parity of the bits 0…i: inside a string from its opening quote to before its closing one.
std::uint64_t prefix_parity(std::uint64_t bits) noexcept {
    const __m128i all = _mm_set1_epi8(-1);
    return static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm_clmulepi64_si128(_mm_set_epi64x(0, static_cast<long long>(bits)), all, 0)));
}

/// Returns the position after the closing brace that ends the value, or 0.
template <bool kBrackets>
int scan_block(ScanState& s, const char* p) noexcept {
    const BlockMasks m = classify<kBrackets>(p);
    const std::uint64_t quotes = m.quotes & ~escaped_bytes(s, m.backslashes);
    const std::uint64_t in_string = prefix_parity(quotes) ^ s.in_string;
    s.in_string = static_cast<std::uint64_t>(static_cast<std::int64_t>(in_string) >> 63);
    const std::uint64_t opens = m.opens & ~in_string;
    std::uint64_t closes = m.closes & ~in_string;
    const std::uint64_t bad = m.suspicious & (in_string | ~m.spaces);
    const std::int64_t close_count = std::popcount(closes);
    if (s.depth > close_count) {  // the value cannot end in this block
        s.depth += std::popcount(opens) - close_count;
        s.flagged |= bad != 0;
        return 0;
    }
    for (std::int64_t seen = 1; closes != 0; ++seen, closes &= closes - 1) {
        const int at = std::countr_zero(closes);
        const std::uint64_t before = (std::uint64_t{1} << at) - 1;
        if (s.depth + std::popcount(opens & before) - seen <= 0) {
            s.flagged |= (bad & before) != 0;
            return at + 1;
        }
    }
    s.depth += std::popcount(opens) - close_count;
    s.flagged |= bad != 0;
    return 0;
}

#endif

template <bool kBrackets>
const char* scan(ScanState& s, const char* p, const char* end) noexcept {
#ifdef FAULTLINE_SCAN_SIMD
    for (; end - p >= 64; p += 64)
        if (const int after = scan_block<kBrackets>(s, p); after != 0) return p + after;
#endif
    for (; p != end; ++p)
        if (scan_byte<kBrackets>(s, *p)) return p + 1;
    return nullptr;
}

}  // namespace

const char* scan_object(ScanState& state, const char* from, const char* end) noexcept { return scan<false>(state, from, end); }

const char* scan_value(ScanState& state, const char* from, const char* end) noexcept { return scan<true>(state, from, end); }

const char* scan_string(const char* from, const char* end) noexcept {
    if (from == end) return nullptr;
    for (const char* p = from + 1; p != end; ++p) {
        if (*p == '\\') {
            if (++p == end) return nullptr;
        } else if (*p == '"') {
            return p + 1;
        }
    }
    return nullptr;
}

}  // namespace faultline::kineto
