// The errors of a client. Where one of them is thrown, nothing was released.

import { LocalDPError } from "../errors.js";

/** A device has no budget left for a new value. */
export class BudgetError extends LocalDPError {
  static title = "BudgetError";
  static code = "budget";
}

/** What a device has spent cannot be read or written, so it reports nothing. */
export class StoreError extends LocalDPError {
  static title = "StoreError";
  static code = "store";
}

/** The browser gives this page no storage. */
export class StorageBlockedError extends StoreError {
  static title = "StorageBlockedError";
  static code = "storage-blocked";
}

/** Too many reports of a device are waiting to be sent. */
export class OutboxFullError extends LocalDPError {
  static title = "OutboxFullError";
  static code = "outbox-full";
}

/** The owner of the device has opted out. */
export class OptedOutError extends LocalDPError {
  static title = "OptedOutError";
  static code = "opted-out";
}
