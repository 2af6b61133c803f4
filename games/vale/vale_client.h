/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Purview authors
 *
 * Extends the client of purview.h for the demo page: a pilot that sends inputs for walking and
 * driving and predicts their results. One per joined client; destroy it before its client.
 */
#ifndef VALE_CLIENT_H
#define VALE_CLIENT_H

#include "purview.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vale_pilot vale_pilot;

/* 17 doubles. */
typedef struct vale_pilot_state {
    double corrections;     /* corrections that changed something */
    double invisible;       /* those below two centimeters */
    double replayed;        /* inputs replayed in all corrections */
    double largest_error_m; /* position error */
    double last_error_m;
    double starved;   /* ticks in which the server had no input of this client */
    double waiting;   /* inputs buffered at the server, as last reported */
    double rate;      /* rate of the client's input clock */
    double own_ghost; /* ghost of this player: the cart or the player; PV_NO_GHOST */
    double cart;      /* the driven ghost, or PV_NO_GHOST */
    double speed_mps; /* of the cart */
    double heading;
    double target_x;
    double target_y;
    double cooldown; /* ticks */
    double rounds;
    double newest_input;
} vale_pilot_state;

/* predicts: 0 disables prediction: inputs are sent, and the server's state is displayed. Returns
 * null if the client has not joined or its world is not a vale. */
vale_pilot* vale_pilot_create(pv_client* client, uint32_t predicts);
void vale_pilot_destroy(vale_pilot* pilot);
/* Sets the blocked tiles: width x height bytes, 1 is blocked, row by row, each tile_m wide. */
void vale_pilot_ground(vale_pilot* pilot, uint32_t width, uint32_t height, float tile_m,
                       const uint8_t* blocked);
/* Returns a buffer of that many bytes for `blocked`, valid until the next call; null if too large.
 */
uint8_t* vale_pilot_room(vale_pilot* pilot, uint32_t bytes);
/* Sends the inputs that are due and returns their number. Walking is a direction of length 0 to 1,
 * throttle and steering are -1 to 1, the target is the position at which the gun aims. */
uint32_t vale_pilot_turn(vale_pilot* pilot, double now_ms, float walk_x, float walk_y,
                         float throttle, float steering, float target_x, float target_y,
                         uint32_t fires);
/* Writes the x and y at which to draw each of the `count` instances of the last pv_client_collect.
 */
void vale_pilot_position(vale_pilot* pilot, pv_client* client, uint32_t count, double now_ms);
const vale_pilot_state* vale_pilot_look(vale_pilot* pilot);

#ifdef __cplusplus
}
#endif

#endif
