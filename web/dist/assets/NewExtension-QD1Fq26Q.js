import{S as e,g as t,h as n,o as r}from"./libraries-rtXbZG4A.js";import{Bn as i,Kt as a,Ln as o,at as s,mn as c,mr as l,nr as u,tr as d,xr as f}from"./base-D3kvwIsU.js";import{t as p}from"./facts-hd-e6Glq.js";import{f as m,m as h}from"./Extensions-BTutC7Tw.js";import{n as g,t as _}from"./TextProblems-7EQo5J-w.js";/* empty css                 */var v=`metadata:
  id: my-extension
  name: My extension
  description: Says what it is good for.
  author: Me
  category: Utility
  type: install
  version: 1.0.0

variables:
  domain:
    type: string
    description: Where visitors find it.
    is_required: true
  token:
    type: secret
    description: Made up unless it is given.

execution:
  run:
    - name: Start it
      type: docker_compose
      properties:
        action: up
        compose:
          services:
            page:
              image: nginx:1.29-alpine
              restart: unless-stopped
              environment:
                TOKEN: "{{ token }}"
              volumes:
                - data:/data
          volumes:
            data: {}
    - name: Lead visitors there
      type: proxy
      properties:
        action: add
        domain: "{{ domain }}"
        service: page
        port: 80
  validate:
    - name: Wait until it answers
      type: wait
      properties:
        service: page
        port: 80
`;function y(){let y=f(),{route:b}=r(),{membership:x,may:S}=l(),C=e(),w=t(null),[T,E]=a(`new extension ${x.organization_id}`,v),D=s(),O=h(D.error),k=O.map(e=>m(T,e));if(!S(`extension:create`))return n(c,{title:y.extensionText.createTitle,children:n(`p`,{class:`notice`,children:y.extensionText.readOnlyRole})});let A=e=>D.mutate({yaml_content:T,...e?{draft:!0}:{}},{onSuccess:e=>{E(()=>v),o(e.validation_status===`valid`?y.extensionText.created:y.extensionText.savedDraft),b(p(e,e.validation_status===`valid`?void 0:`text`))}});return n(c,{title:y.extensionText.createTitle,children:n(`form`,{class:`stack`,onSubmit:e=>{e.preventDefault(),D.isPending||A(!1)},children:[n(`p`,{class:`prose`,children:y.extensionText.createHint}),n(_,{id:C,problems:k,isStale:D.variables?.yaml_content!==T,onGoTo:(e,t)=>w.current?.goTo(e,t)}),n(g,{label:y.extensionText.label,text:T,readOnly:!1,problems:k,describedBy:k.length>0?C:``,handle:w,onText:e=>E(()=>e)}),n(`div`,{class:`save-bar row`,children:[n(d,{type:`submit`,kind:`primary`,busy:D.isPending,children:y.extensionText.createAction}),O.length>0&&n(d,{busy:D.isPending,onClick:()=>A(!0),children:y.extensionText.saveDraft}),n(u,{kind:`quiet`,href:`/extensions`,children:y.common.cancel}),D.error&&O.length===0&&n(i,{error:D.error})]})]})})}export{y as default};