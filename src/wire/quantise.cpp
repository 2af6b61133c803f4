// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "wire/quantise.hpp"

#include <bit>
#include <cmath>
#include <cstring>

namespace purview {

namespace {

template <class T>
T load(const std::byte* data) noexcept {
    T value;
    std::memcpy(&value, data, sizeof value);
    return value;
}

template <class T>
void store(std::byte* data, T value) noexcept {
    std::memcpy(data, &value, sizeof value);
}

std::int64_t load_integer(const FieldDef& field, const std::byte* data) noexcept {
    switch (field.size_bytes) {
        case 1:
            return field.is_signed ? load<std::int8_t>(data)
                                   : std::int64_t{load<std::uint8_t>(data)};
        case 2:
            return field.is_signed ? load<std::int16_t>(data)
                                   : std::int64_t{load<std::uint16_t>(data)};
        default:
            return field.is_signed ? load<std::int32_t>(data)
                                   : std::int64_t{load<std::uint32_t>(data)};
    }
}

}  // namespace

std::uint32_t wire_max(const FieldDef& field) noexcept {
    switch (field.type) {
        case FieldType::boolean:
            return 1;
        case FieldType::integer:
            return static_cast<std::uint32_t>(field.max - field.min);
        case FieldType::real:
            return 0xffffffffU;
        case FieldType::quantised:
            return static_cast<std::uint32_t>(std::llround((field.max - field.min) / field.step));
    }
    return 0;
}

std::uint32_t quantise(const FieldDef& field, const std::byte* data) noexcept {
    const std::byte* at = data + field.offset_bytes;
    switch (field.type) {
        case FieldType::boolean:
            return load<std::uint8_t>(at) != 0 ? 1 : 0;
        case FieldType::integer: {
            const std::int64_t value = load_integer(field, at);
            const auto min = static_cast<std::int64_t>(field.min);
            const auto max = static_cast<std::int64_t>(field.max);
            return static_cast<std::uint32_t>((value < min   ? min
                                               : value > max ? max
                                                             : value) -
                                              min);
        }
        case FieldType::real: {
            const auto value = load<float>(at);
            return std::isnan(value) ? 0x7fc00000U : std::bit_cast<std::uint32_t>(value);
        }
        case FieldType::quantised: {
            const double value = load<float>(at);
            if (!(value > field.min)) return 0;  // NaN too
            const double steps = std::floor((value - field.min) / field.step + 0.5);
            const std::uint32_t max = wire_max(field);
            return steps >= max ? max : static_cast<std::uint32_t>(steps);
        }
    }
    return 0;
}

double dequantised_value(const FieldDef& field, std::uint32_t wire) noexcept {
    if (field.type == FieldType::real) return std::bit_cast<float>(wire);
    const std::uint32_t max = wire_max(field);
    const double steps = wire > max ? max : wire;
    return field.type == FieldType::quantised ? field.min + steps * field.step : field.min + steps;
}

void dequantise(const FieldDef& field, std::uint32_t wire, std::byte* data) noexcept {
    std::byte* at = data + field.offset_bytes;
    switch (field.type) {
        case FieldType::boolean:
            store<std::uint8_t>(at, wire != 0 ? 1 : 0);
            return;
        case FieldType::integer: {
            const auto value = static_cast<std::int64_t>(dequantised_value(field, wire));
            switch (field.size_bytes) {
                case 1:
                    store(at, static_cast<std::uint8_t>(value));
                    return;
                case 2:
                    store(at, static_cast<std::uint16_t>(value));
                    return;
                default:
                    store(at, static_cast<std::uint32_t>(value));
                    return;
            }
        }
        case FieldType::real:
            store(at, std::bit_cast<float>(wire));
            return;
        case FieldType::quantised:
            store(at, static_cast<float>(dequantised_value(field, wire)));
            return;
    }
}

}  // namespace purview
