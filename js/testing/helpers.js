// Plans, stores and servers for the tests of the client. Nothing here needs Node.

const document = (mechanism, domain, epsilon, parameters, more = {}) =>
  JSON.stringify({ domain, epsilon, format: "localdp-plan/1", mechanism, ...more, parameters, width: 64 });

const DRINKS = { items: ["tea", "coffee", "wäter"] };

/** Three drinks under grr at epsilon 1, and as a chain whose reports differ every time. */
export const PLAN = document("grr", DRINKS, 1, { truth: "6717849057872324379" });
export const CHAIN = document("grr+grr", DRINKS, 2, { again_truth: "4819726612471209423", truth: "12552623127150127847" }, { once: 0.5 });

/** Users hold sets of these drinks: up to 2 are counted right. Once without and once with a catch-all item. */
export const SETS = document("grr", DRINKS, 1, { truth: "7514126941980222023" }, { set_size: 2 });
export const SETS_OR_ELSE = document("grr", { ...DRINKS, other: "coffee" }, 1, { truth: "7514126941980222023" }, { set_size: 2 });

/** A store that fails as it is told: `when(turn)` says "before" or "after" the writing, or nothing. */
export function failing(store, when) {
  let turn = 0;
  return {
    async change(name, update) {
      const fails = when(turn++);
      if (fails === "before") throw new Error("no space left");
      await store.change(name, update);
      if (fails === "after") throw new Error("the power is gone");
    },
  };
}

/** A store whose records can be read and replaced. */
export function openStore() {
  const records = new Map();
  return {
    records,
    async change(name, update) {
      const after = update(records.get(name));
      if (after) records.set(name, after);
    },
  };
}

/** A function to upload with: keeps what it gets, and answers as it was told. */
export function server(...answers) {
  const seen = [];
  const upload = async (body, id) => {
    seen.push(`${id} ${Array.from(body)}`);
    const answer = answers.length ? answers.shift() : 201;
    if (answer instanceof Error) throw answer;
    return answer;
  };
  return Object.assign(upload, { seen });
}
