// What people import from "localdp".

export { deviceKeys } from "./device_keys.js";
export {
  InvalidInputError,
  LocalDPError,
  PlanError,
  PlanLimitError,
  UnknownItemError,
  WireError,
} from "./errors.js";
export { Plan } from "./plan.js";
export { freshWords, keyedWords } from "./random.js";
