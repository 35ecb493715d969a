// The errors that this module throws on purpose. Each message says what was given, what was expected and what to do.

/** The base class. `code` tells programs what happened; the Python library uses the same codes. */
export class LocalDPError extends Error {
  /**
   * @param {string} message
   * @param {string} code
   */
  constructor(message, code = new.target.code) {
    super(message);
    this.code = code;
    this.name = new.target.title;
  }

  /** The name that is shown. A minifier shortens the names of classes, but not this text. */
  static title = "LocalDPError";
  /** The code of every error of a class, unless the error has its own. */
  static code = "";
}

/** An argument that cannot be used as given. */
export class InvalidInputError extends LocalDPError {
  static title = "InvalidInputError";
  static code = "invalid-input";
}

/** A value that is not in the domain, under a plan without a catch-all item. */
export class UnknownItemError extends InvalidInputError {
  static title = "UnknownItemError";
  static code = "unknown-item";
}

/** Text that is not a plan, or a plan with other parameters than its epsilon gives. */
export class PlanError extends InvalidInputError {
  static title = "PlanError";
  static code = "bad-plan";
}

/** A plan that asks more of a device than its owner or this module allows. */
export class PlanLimitError extends PlanError {
  static title = "PlanLimitError";
  static code = "plan-limit";
}

/** A part of another study, or another document than the one that was answered. */
export class PlanMismatchError extends InvalidInputError {
  static title = "PlanMismatchError";
}

/** Bytes that are not a batch of a plan's reports. `code` gives the reason. */
export class WireError extends InvalidInputError {
  static title = "WireError";

  /**
   * @param {string} code
   * @param {string} message
   */
  constructor(code, message) {
    super(`${message} [${code}]`, code);
  }
}

/**
 * What is thrown for a plan that no device can use.
 * @param {string} why
 */
export const unusable = (why) => new PlanError(`this plan cannot be used: ${why}`);
