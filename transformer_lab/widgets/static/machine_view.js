function g(t){return Uint8Array.from(atob(t),r=>r.charCodeAt(0))}async function m(t){if(!t||typeof t!="object")return t;if(t.f32&&t.deflated){let e=new Blob([g(t.f32)]).stream().pipeThrough(new DecompressionStream("deflate")),n=new Uint8Array(await new Response(e).arrayBuffer()),[i,o]=[new Uint8Array(n.length),n.length/4];return n.forEach((l,c)=>{i[4*(c%o)+Math.floor(c/o)]=l}),{data:new Float32Array(i.buffer),shape:t.shape}}let r=await Promise.all(Object.values(t).map(m));return Array.isArray(t)?r:Object.fromEntries(Object.keys(t).map((e,n)=>[e,r[n]]))}function w(t,r,e){return Math.min(Math.max(t,r),e)}function y(...t){let r=t.map(e=>[1,3,5].map(n=>parseInt(e.slice(n,n+2),16)));return e=>{let n=w(e,0,1)*(r.length-1),i=Math.min(Math.floor(n),r.length-2);return r[i].map((o,l)=>Math.round(o+(r[i+1][l]-o)*(n-i)))}}var C=y("#00224e","#123570","#3b496c","#575d6d","#707173","#8a8678","#a59c74","#c3b369","#e1cc55","#fee838");function a(t,r={},...e){let n=document.createElement(t);for(let[i,o]of Object.entries(r))i.startsWith("on")?n[i]=o:o!==!1&&o!==null&&n.setAttribute(i,o===!0?"":o);return n.append(...e),n}function k(...t){return a("div",{class:"tl-bar"},...t)}var E={"data-lm-suppress-shortcuts":"true"};function f(t,r,e={}){return a("button",{type:"button",onclick:r,...E,...e},t)}var O=`
.tl-view, .tl-ask {
  max-width: 58em; font: 13px/1.5 system-ui, sans-serif;
  color: var(--jp-ui-font-color1, var(--vscode-foreground, inherit));
}
.tl-bar { display: flex; flex-wrap: wrap; gap: 6px 16px; align-items: center; margin: 4px 0; }
.tl-view label { display: inline-flex; gap: 6px; align-items: center; }
.tl-view output { min-width: 3.2em; font-variant-numeric: tabular-nums; }
.tl-bar button, .tl-view select {
  font: inherit; color: inherit; background: transparent;
  border: 1px solid rgba(127,127,127,.55); border-radius: 4px; padding: 1px 9px;
}
.tl-view select option { color: #000; background: #fff; }
.tl-bar button[aria-pressed=true] { background: #0072b2; border-color: #0072b2; color: #fff; }
:is(.tl-view, .tl-ask) :focus-visible { outline: 2px solid #0072b2; outline-offset: 2px; }
.tl-view input { accent-color: #0072b2; }
.tl-view .tl-says { min-height: 3em; font-variant-numeric: tabular-nums; }
.tl-view .tl-note { opacity: .8; }
.tl-view .tl-strip { line-height: 1.8; }
.tl-strip span { padding: 1px 2px; margin: 0 1px; border-radius: 3px; cursor: pointer; }
.tl-strip .tl-here { outline: 2px solid #d55e00; }
.tl-view table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
.tl-view th, .tl-view td { padding: 1px 7px; text-align: right; }
.tl-view .tl-scroll { overflow: auto; max-height: 22em; }
.tl-view[hidden], :is(.tl-view, .tl-ask) [hidden] { display: none; }
@media (prefers-reduced-motion: reduce) { .tl-view * { animation: none !important; transition: none !important; } }
`,A=`
.tl-ask { border-left: 3px solid #0072b2; padding: 2px 10px; margin: 4px 0 10px; }
.tl-ask .tl-quiet { border-style: dashed; }
`;function M(t,{question:r,choices:e,answer:n,because:i}){let o=a("div",{"aria-live":"polite"}),l=s=>{t.hidden=s,d.hidden=s,h.hidden=!s,u.forEach(p=>{p.disabled=!s})},c=s=>{o.textContent=s===null?`It is ${e[n]}: ${i}`:s===n?`Right: ${i}`:`Not ${e[s]} but ${e[n]}: ${i}`,u.forEach((p,v)=>p.setAttribute("aria-pressed",v===s)),l(!1),d.focus()},u=e.map((s,p)=>f(s,()=>c(p))),h=f("show me",()=>c(null),{class:"tl-quiet"}),d=f("ask again",()=>{o.textContent="",u.forEach(s=>s.setAttribute("aria-pressed",!1)),l(!0),u[0].focus()},{class:"tl-quiet"});return l(!0),a("div",{class:"tl-ask"},a("style",{},A),a("div",{},a("b",{},"Predict first. "),r),k(...u,h,d),o)}function b(t,r){customElements.get(t)||customElements.define(t,class extends HTMLElement{connectedCallback(){if(this.live)return void this.live.dispatchEvent?.(new Event("tl-in"));this.live=!0;let e=this.querySelector("script").textContent;e.includes('"deflated":')?m(JSON.parse(e)).then(n=>this.begin(n)):this.begin(JSON.parse(e))}begin(e){this.querySelector("img").hidden=!0,this.live=a("div",{class:"tl-view"}),this.append(a("style",{},O),...e.predict?[M(this.live,e.predict)]:[],this.live),r.render({model:{get:n=>e[n]},el:this.live}),this.isConnected||this.disconnectedCallback()}disconnectedCallback(){this.live.dispatchEvent?.(new Event("tl-out"))}})}var x={render(){}};b(TAG,x);
