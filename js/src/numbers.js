// The fixed numbers of this module: limits, sizes of what is stored, and times. This file imports nothing, because then
// esbuild writes each number where it is used, instead of a name for it.

// What a plan may ask for.
export const LARGEST_EPSILON = 16;
export const LARGEST_SIZE = 2 ** 32;
export const MOST_ANSWERS = 4096; // of dbit
export const MOST_HELD = 2 ** 16; // of a plan with sets
export const MOST_HELD_BY_PRIVSET = 256;
export const LONGEST_NAME = 200; // characters, of a part of a study
export const MOST_CELLS = 2 ** 16; // of a scale
export const MOST_WAVE_CELLS = 1536;
export const MOST_DECIMALS = 6; // of its ends
export const LARGEST_EXACT = 2 ** 53 - 1;
export const LONGEST_NUMBER = 400; // characters
export const MOST_REPORT_BYTES = 2 ** 24;
export const MOST_ROUNDS = 2 ** 17; // of drawing, for one report

// Random bits, as the wire format draws them: digits that are read for all items (later ones are read only where they
// are needed), and the bits that a jump looks ahead.
export const EAGER_DIGITS = 9;
export const REACH = 254;

// Halves of random words that are made at once: few at first, and then twice as many each time.
export const LEAST_FRESH = 256;
export const LEAST_KEYED = 8;
export const MOST_AT_ONCE = 2 ** 14; // crypto.getRandomValues refuses more than 65,536 bytes

// The bytes of what a device stores.
export const NAME_BYTES = 8;
export const CHECKSUM_BYTES = 32;
export const SECRET_BYTES = 32;
export const HEADER_BYTES = 44; // after the name
export const DIGEST_BYTES = 16;
export const ENTRY_BYTES = 24;
export const ID_BYTES = 16;

// Of a client.
export const MOST_REMEMBERED = 256; // permanent responses in memory; others are derived again
export const MOST_KEPT_ALIVE = 60_000; // bytes; browsers let requests of up to 64 KiB outlive their page
export const MOMENT = 100; // milliseconds; bringing the copies of localStorage up to date takes one or two
export const DEADLINE = 10_000; // milliseconds for one upload
export const LONGEST_TEXT = 2 ** 24; // characters of what a server says
export const DAY = 86_400_000; // milliseconds
export const LAST_WORDING = 999; // a longer number, sent in the clear, could tell one visitor from all others
