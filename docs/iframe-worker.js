// Search in a site that is read from a folder: browsers start no worker from a file, so a hidden frame does its work.
// The theme asks for the name `IFrameWorker` (its worker then loads scripts as a page does) and for this file's name.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      const waiting = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.srcdoc = `<script>parent.IFrameWorker.enter(window)</script><script src="${url}"></script>`;
      const send = (data) => frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
      this.postMessage = (data) => waiting.push(data);
      IFrameWorker.enter = (inside) => {
        inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      };
      frame.onload = () => {
        this.postMessage = send;
        waiting.forEach(send);
      };
      this.terminate = () => frame.remove();
      document.body.append(frame);
    }
  };
  window.Worker = window.IFrameWorker;
}
