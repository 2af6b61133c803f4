// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "replication/article_codec.hpp"

#include <cstdlib>

#include "protocol/bit_reader.hpp"
#include "protocol/bit_writer.hpp"

namespace purview::bench {

namespace {

/// One function describes the format for both directions: a writer reads the value, a reader sets
/// it.
struct Out {
    static constexpr bool reads = false;
    BitWriter bits;
    void number(std::int32_t& value, unsigned count, std::int32_t min = 0) {
        bits.bits(static_cast<std::uint64_t>(value - min), count);
    }
    void flag(bool& value) { bits.boolean(value); }
    bool ok() const { return bits.ok(); }
};
struct In {
    static constexpr bool reads = true;
    BitReader bits;
    void number(std::int32_t& value, unsigned count, std::int32_t min = 0) {
        value = static_cast<std::int32_t>(bits.bits(count)) + min;
    }
    void flag(bool& value) { value = bits.boolean(); }
    bool ok() const { return bits.ok(); }
};

constexpr unsigned sequence_bits = 16, count_bits = 10, index_bits = 10;

bool within(std::int32_t value, unsigned bits) {
    return value >= -(1 << (bits - 1)) && value < (1 << (bits - 1));
}

/// A difference, encoded in few bits if it is small.
template <class Stream>
void difference(Stream& stream, std::int32_t& value, std::int32_t base, unsigned few,
                unsigned more) {
    std::int32_t delta = value - base;
    bool small = within(delta, few);
    stream.flag(small);
    const unsigned bits = small ? few : more;
    stream.number(delta, bits, -(1 << (bits - 1)));
    value = base + delta;
}

template <class Stream>
void position(Stream& stream, CubeState& cube, const CubeState* base) {
    bool near = base != nullptr;
    for (int i = 0; near && !Stream::reads && i < 3; ++i) {
        near = within(cube.position[i] - base->position[i], 9);
    }
    if (base != nullptr) stream.flag(near);
    for (int i = 0; i < 3; ++i) {
        if (near) {
            difference(stream, cube.position[i], base->position[i], 5, 9);
        } else {
            stream.number(cube.position[i], i < 2 ? cube_xy_bits : cube_z_bits);
        }
    }
}

template <class Stream>
void turn(Stream& stream, CubeState& cube, const CubeState* base) {
    bool near = base != nullptr && (Stream::reads || cube.largest == base->largest);
    for (int i = 0; near && !Stream::reads && i < 3; ++i) {
        near = within(cube.turn[i] - base->turn[i], 8);
    }
    if (base != nullptr) stream.flag(near);
    if (near) {
        cube.largest = base->largest;
        for (int i = 0; i < 3; ++i) difference(stream, cube.turn[i], base->turn[i], 5, 8);
        return;
    }
    std::int32_t largest = cube.largest;
    stream.number(largest, 2);
    cube.largest = static_cast<std::uint8_t>(largest);
    for (int i = 0; i < 3; ++i) stream.number(cube.turn[i], cube_turn_bits);
}

template <class Stream>
void cube(Stream& stream, CubeState& state, const CubeState* base) {
    stream.flag(state.interacting);
    if (base == nullptr) {
        position(stream, state, nullptr);
        turn(stream, state, nullptr);
        return;
    }
    bool moved = state.position != base->position;
    bool turned = state.largest != base->largest || state.turn != base->turn;
    stream.flag(moved);
    stream.flag(turned);
    if (moved) position(stream, state, base);
    if (turned) turn(stream, state, base);
}

/// Bits for the distance to the next changed cube: 4 for 1 to 8, 7 for 9 to 40, otherwise 12.
unsigned distance_bits(std::int32_t distance) {
    return distance <= 8 ? 4 : distance <= 40 ? 7 : 2 + index_bits;
}

template <class Stream>
void distance_to(Stream& stream, std::int32_t& distance) {
    bool near = distance <= 8;
    stream.flag(near);
    if (near) return stream.number(distance, 3, 1);
    bool middle = distance <= 40;
    stream.flag(middle);
    middle ? stream.number(distance, 5, 9) : stream.number(distance, index_bits);
}

template <class Stream>
void walk(Stream& stream, CubeFrame& frame, const CubeFrame* baseline) {
    std::int32_t sequence = 0, of_baseline = 0;
    bool has_baseline = baseline != nullptr;
    stream.number(sequence, sequence_bits);
    stream.flag(has_baseline);
    if (!has_baseline || baseline == nullptr) {
        for (CubeState& state : frame) cube(stream, state, nullptr);
        return;
    }
    stream.number(of_baseline, sequence_bits);
    std::int32_t count = 0, last = -1;
    unsigned as_distances = count_bits;
    for (std::int32_t i = 0; !Stream::reads && i < static_cast<std::int32_t>(frame.size()); ++i) {
        if (frame[i] == (*baseline)[i]) continue;
        ++count;
        as_distances += distance_bits(i - last);
        last = i;
    }
    bool distances = as_distances < frame.size();
    stream.flag(distances);
    if (distances) {
        stream.number(count, count_bits);
        std::int32_t at = -1;
        for (std::int32_t c = 0; c < count && stream.ok(); ++c) {
            std::int32_t next = at + 1;
            while (!Stream::reads && frame[next] == (*baseline)[next]) ++next;
            std::int32_t distance = next - at;
            distance_to(stream, distance);
            at += distance;
            if (at >= static_cast<std::int32_t>(frame.size())) return;
            cube(stream, frame[at], &(*baseline)[at]);
        }
        return;
    }
    for (std::size_t i = 0; i < frame.size() && stream.ok(); ++i) {
        bool changed = !Stream::reads && !(frame[i] == (*baseline)[i]);
        stream.flag(changed);
        if (changed) cube(stream, frame[i], &(*baseline)[i]);
    }
}

}  // namespace

std::size_t write_article_frame(const CubeFrame& frame, const CubeFrame* baseline,
                                std::span<std::byte> out) {
    Out stream{BitWriter(out)};
    CubeFrame copy = frame;
    walk(stream, copy, baseline);
    return stream.ok() ? stream.bits.bits_written() : 0;
}

bool read_article_frame(std::span<const std::byte> in, const CubeFrame* baseline,
                        CubeFrame& frame) {
    In stream{BitReader(in)};
    frame = baseline != nullptr ? *baseline : CubeFrame(cube_count);
    walk(stream, frame, baseline);
    return stream.ok();
}

std::uint32_t changed_cubes(const CubeFrame& frame, const CubeFrame& baseline) {
    std::uint32_t count = 0;
    for (std::size_t i = 0; i < frame.size(); ++i) count += frame[i] == baseline[i] ? 0 : 1;
    return count;
}

}  // namespace purview::bench
