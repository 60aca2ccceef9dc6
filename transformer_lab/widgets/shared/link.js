// The kernel behind a view, while one listens. anywidget hosts this module: a model in the page is one end of a link, a
// Python object the other. A view finds the model by its key; whichever comes first waits for the other.
//   const shared = { name: (value) => … };
//   const kernel = linked(model.get("kernel"), { joined: () => …, heard: (content, buffers) => …, shared });
//   kernel.send({ … });
//   kernel.model  // null without a kernel: the view is then all that its output holds
//   kernel.gone  // whether there was one: it was shut down or started anew, and knows nothing of the view

const HOME = Symbol.for("transformer_lab.links");
const home = () => (globalThis[HOME] ??= Object.assign(new EventTarget(), { models: new Map() }));

export function linked(key, { joined = () => {}, left = () => {}, heard = () => {}, shared = {} }) {
  const me = { model: null, gone: false };
  const lost = () => {
    if (!me.model) return;
    Object.assign(me, { model: null, gone: true });
    left();
  };
  // JupyterLab keeps the model of a kernel that was shut down: the message that cannot go shows that it is gone.
  me.send = (content) => {
    const manager = me.model?.widget_manager;
    if (me.model && (!manager || manager.kernel)) return void me.model.send(content);
    lost();
  };
  const look = () => {
    const model = home().models.get(key) ?? null;
    if (model === me.model) return;
    if (!model) return void lost();
    Object.assign(me, { model, gone: false });
    model.on("msg:custom", heard);
    // JupyterLab says so when a kernel is restarted: its models are alive no more, though they stay in the page.
    model.on("comm_live_update", () => {
      if (me.model === model) lost();
    });
    for (const [name, act] of Object.entries(shared)) {
      model.on(`change:${name}`, () => act(model.get(name)));
      act(model.get(name));
    }
    joined();
  };
  if (key) home().addEventListener(key, look);
  look();
  return me;
}

export default {
  initialize({ model }) {
    const [key, { models }] = [model.get("key"), home()];
    const tell = () => home().dispatchEvent(new Event(key));
    models.set(key, model);
    tell();
    return () => {
      models.delete(key);
      tell();
    };
  },
};
