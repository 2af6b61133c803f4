// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "replication/send_rates.hpp"

namespace purview {

void SendRates::grow(std::size_t words, std::size_t room) {
    policies_.reserve(room * bits_per_word);
    policies_.resize(words * bits_per_word);
}

}  // namespace purview
