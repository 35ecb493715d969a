// What people import from "localdp".

export { Client } from "./client/client.js";
export { BudgetError, OptedOutError, OutboxFullError, StorageBlockedError, StoreError } from "./client/errors.js";
export { indexedDbStore } from "./client/indexed_db.js";
export { localStorageStore } from "./client/local_storage.js";
export { memoryStore } from "./client/store.js";
export { deviceKeys } from "./device_keys.js";
export {
  InvalidInputError,
  LocalDPError,
  PlanError,
  PlanLimitError,
  PlanMismatchError,
  UnknownItemError,
  WireError,
} from "./errors.js";
export { Plan } from "./plan.js";
export { freshWords, keyedWords } from "./random.js";
