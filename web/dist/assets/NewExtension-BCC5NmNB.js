import{S as e,g as t,h as n,o as r}from"./libraries-rtXbZG4A.js";import{$r as i,Mi as a,Rn as o,Sr as s,St as c,Ti as l,Xr as u,hi as d,mi as f,yt as p}from"./base-C9QcN41E.js";import{t as m}from"./facts-hd-e6Glq.js";import{f as h,m as g}from"./Extensions-DtzqoTQK.js";import{n as _,t as v}from"./TextProblems-B9X5qrtC.js";var y=`metadata:
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
`;function b(){let b=a(),{route:x}=r(),{membership:S,may:C}=l(),w=e(),T=t(null),[E,D]=o(`new extension ${S.organization_id}`,y),O=c(),k=g(O.error),A=k.map(e=>h(E,e));if(!C(`extension:create`))return n(s,{title:b.extensionText.createTitle,children:n(`p`,{class:`notice`,children:b.extensionText.readOnlyRole})});let j=e=>O.mutate({yaml_content:E,...e?{draft:!0}:{}},{onSuccess:e=>{D(()=>y),u(e.validation_status===`valid`?b.extensionText.created:b.extensionText.savedDraft),x(m(e,e.validation_status===`valid`?void 0:`text`))}});return n(s,{title:b.extensionText.createTitle,children:n(`form`,{class:`stack`,onSubmit:e=>{e.preventDefault(),O.isPending||j(!1)},children:[n(`p`,{class:`prose`,children:b.extensionText.createHint}),n(v,{id:w,problems:A,isStale:O.variables?.yaml_content!==E,onGoTo:(e,t)=>T.current?.goTo(e,t)}),n(_,{label:b.extensionText.label,text:E,readOnly:!1,problems:A,describedBy:A.length>0?w:``,handle:T,onText:e=>D(()=>e)}),n(p,{children:[n(f,{type:`submit`,kind:`primary`,busy:O.isPending,children:b.extensionText.createAction}),k.length>0&&n(f,{busy:O.isPending,onClick:()=>j(!0),children:b.extensionText.saveDraft}),n(d,{kind:`quiet`,href:`/extensions`,children:b.common.cancel}),k.length===0&&n(i,{error:O.error})]})]})})}export{b as default};